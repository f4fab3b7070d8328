import { accessFeature } from "../features/access/feature.ts";
import { accountsFeature } from "../features/accounts/feature.ts";
import { admissionFeature } from "../features/admission/feature.ts";
import { authorizationFeature } from "../features/authorization/feature.ts";
import { certificatesFeature } from "../features/certificates/feature.ts";
import { revocationFeature } from "../features/revocation/feature.ts";
import { coreFeature } from "../features/core/feature.ts";
import { federationFeature } from "../features/federation/feature.ts";
import { nodesFeature } from "../features/nodes/feature.ts";
import { servedInBothSpellings } from "./served-spellings.ts";
import type { Names } from "../machinery/api/names.ts";
import type { Feature } from "../machinery/feature.ts";
import type { ResourceDefinition } from "../machinery/registry/resource-definition.ts";

const features: readonly Feature[] = [
  admissionFeature,
  coreFeature,
  accountsFeature,
  accessFeature,
  authorizationFeature,
  certificatesFeature,
  federationFeature,
  nodesFeature,
  revocationFeature,
];

/** Every stored kind, by group and name. Discovery lists them in this order. */
export const storedResources = (names: Names): ResourceDefinition[] =>
  features
    .flatMap(({ kinds }) => kinds.map((define) => servedInBothSpellings(names, define(names))))
    .sort((one, other) => compare(one.group, other.group) || compare(one.plural, other.plural));

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
