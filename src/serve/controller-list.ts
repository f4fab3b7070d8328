import type { Names } from "../api/names.ts";
import { aggregateRules } from "../authorization/index.ts";
import type { ControllerOptions } from "../cli/controller-flags.ts";
import type { ResourceReference } from "../client/api-client.ts";
import { clusterRoleAggregation } from "../controllers/cluster-role-aggregation.ts";
import type { Controller } from "../controllers/controller.ts";
import { bootstrapTokenCleaner } from "../controllers/bootstrap-token-cleaner.ts";
import { defaultServiceAccount } from "../controllers/default-service-account.ts";
import { eventCleaner } from "../controllers/event-cleaner.ts";
import { garbageCollector } from "../controllers/garbage-collector.ts";
import { namespaceTermination } from "../controllers/namespace-termination.ts";
import { rootCaPublisher } from "../controllers/root-ca-publisher.ts";
import { serviceAccountTokenSecrets } from "../controllers/service-account-token-secrets.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import type { ApprovalPolicy } from "../signers/approval-policy.ts";
import type { ServerIdentity } from "../signers/server-identity.ts";
import { certificateControllers } from "./certificate-controllers.ts";
import { enabledControllers } from "./enabled-controllers.ts";
import type { AuthorityFor } from "./signing-authorities.ts";
import type { TokenServices } from "./token-services.ts";

export interface ControllerListOptions {
  readonly options: ControllerOptions;
  readonly names: Names;
  readonly definitions: readonly Pick<ResourceDefinition, "group" | "version" | "plural" | "kind" | "scope">[];
  /** PEM of what verifies the server; empty where the system's own roots do: then nothing is published. */
  readonly caCertificates: string;
  /** Left out where the token signing key is not at hand: token Secrets are then not filled here. */
  readonly issueSecretToken?: TokenServices["issueSecretToken"];
  readonly authorityFor: AuthorityFor;
  readonly policy: (() => ApprovalPolicy) | undefined;
  /** How clients know the API server. Throws while it is not known. */
  readonly server: () => ServerIdentity;
}

/** The loops that `--controllers` switches on. Throws UsageError for a name that no loop has. */
export function controllerList(given: ControllerListOptions): Controller[] {
  const enabled = enabledControllers(given.options.controllers);
  return everyController(given).filter(({ name }) => enabled.has(name));
}

function everyController(given: ControllerListOptions): Controller[] {
  const { options, names, policy, definitions, caCertificates, issueSecretToken, authorityFor, server } = given;
  const resources = definitions.map(referenceTo);
  return [
    defaultServiceAccount,
    bootstrapTokenCleaner,
    ...(caCertificates === "" ? [] : [rootCaPublisher({ caCertificates })]),
    ...(issueSecretToken === undefined ? [] : [tokenSecrets({ caCertificates, issueSecretToken })]),
    namespaceTermination({ contents: resources.filter(({ isNamespaced }) => isNamespaced) }),
    // As upstream: events come in numbers, and nobody's life hangs on them.
    garbageCollector({ resources: resources.filter(({ resource }) => resource !== "events") }),
    eventCleaner,
    clusterRoleAggregation({ aggregateRules: (role, all) => aggregateRules(role, [...all]) }),
    ...certificateControllers({ options, names, policy, authorityFor, server }),
  ];
}

const tokenSecrets = ({
  caCertificates,
  issueSecretToken,
}: Required<Pick<ControllerListOptions, "caCertificates" | "issueSecretToken">>): Controller =>
  serviceAccountTokenSecrets({
    caCertificates,
    issueToken: (account, secret) =>
      issueSecretToken({
        namespace: account.metadata.namespace ?? "",
        secretName: secret.metadata.name ?? "",
        serviceAccountName: account.metadata.name ?? "",
        serviceAccountUid: account.metadata.uid ?? "",
      }),
  });

const referenceTo = ({
  group,
  version,
  plural,
  kind,
  scope,
}: ControllerListOptions["definitions"][number]): ResourceReference => ({
  group,
  version,
  resource: plural,
  kind,
  isNamespaced: scope === "Namespaced",
});
