import type { Names } from "../machinery/api/names.ts";
import type { ResourceDefinition } from "../machinery/registry/definition/resource-definition.ts";
import type { ReviewDefinition } from "../machinery/registry/definition/review-definition.ts";
import { accessKinds } from "../features/access/feature.ts";
import type { ConnectedAccess } from "../features/access/feature.ts";
import { accountKinds } from "../features/accounts/feature.ts";
import { admissionKinds } from "../features/admission/feature.ts";
import { certificateKinds } from "../features/certificates/feature.ts";
import { revocationKinds } from "../features/revocation/feature.ts";
import { coreKinds } from "../features/core/feature.ts";
import { nodeKinds } from "../features/nodes/feature.ts";

const kinds = [
  ...admissionKinds,
  ...coreKinds,
  ...accountKinds,
  ...accessKinds,
  ...certificateKinds,
  ...nodeKinds,
  ...revocationKinds,
];

/** Every stored kind, by group and name. Discovery lists them in this order. */
export const storedResources = (names: Names): ResourceDefinition[] =>
  kinds
    .map((define) => servedInBothSpellings(names, define(names)))
    .sort((one, other) => compare(one.group, other.group) || compare(one.plural, other.plural));

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** The reviews, which are answered but never stored. Discovery lists them in this order, after the stored kinds. */
export const reviewDefinitions = (
  {
    selfSubjectReviews,
    localSubjectAccessReviews,
    selfSubjectAccessReviews,
    selfSubjectRulesReviews,
    subjectAccessReviews,
  }: ConnectedAccess["reviews"],
  { tokenReviews, certificateReviews }: Readonly<Record<"tokenReviews" | "certificateReviews", ReviewDefinition>>,
): ReviewDefinition[] => [
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
  certificateReviews,
];

/** The definition of a kind, also served under the other spelling of its group when the server has one. */
function servedInBothSpellings(names: Names, definition: ResourceDefinition): ResourceDefinition {
  const { other } = names;
  if (other === undefined) return definition;
  const { group, version, deprecation, alsoServedAs = [] } = definition;
  const own = [{ group, version, ...(deprecation !== undefined && { deprecation }) }, ...alsoServedAs];
  const respelled = own
    .map((served) => ({ ...served, group: other.ownGroup(served.group) }))
    .filter((served, index) => served.group !== own[index]?.group);
  return respelled.length === 0 ? definition : { ...definition, alsoServedAs: [...alsoServedAs, ...respelled] };
}

/** The reviews in each spelling of their group. */
export const servedReviews = ({ other }: Names, reviews: readonly ReviewDefinition[]): readonly ReviewDefinition[] =>
  other === undefined
    ? reviews
    : reviews.flatMap((review) => {
        const { group, version } = review;
        const respelled = other.ownGroup(group);
        return respelled === group ? [review] : [review, { ...review, group: respelled, storedAs: { group, version } }];
      });

/**
 * Sorts resources for discovery, after the core group. Clients use the first group that knows a name, and most clients know upstream's
 * group. Only that group has a kind's short names, because kubectl warns of names that could mean two resources.
 */
export function discovered<
  T extends { readonly group: string; readonly plural: string; readonly shortNames?: readonly string[] },
>(names: Names, definitions: readonly T[]): T[] {
  const rank = ({ group }: T): number => (group === "" ? 0 : names.spellingOf(group) === names.other ? 1 : 2);
  const known = new Set<string>();
  return definitions
    .toSorted((one, other) => rank(one) - rank(other))
    .map((definition) => {
      const { shortNames = [], plural } = definition;
      const isKnown = known.has(plural);
      known.add(plural);
      return isKnown && shortNames.length > 0 ? { ...definition, shortNames: [] } : definition;
    });
}
