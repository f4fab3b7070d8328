import { accessReviews } from "../features/access/feature.ts";
import type { ConnectedAccess } from "../features/access/feature.ts";
import { tokenReviews as describedTokenReviews } from "../features/accounts/token-reviews.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ReviewDefinition } from "../machinery/registry/resource-definition.ts";

/** The reviews, which are answered and never stored. Discovery lists them in this order, after the stored kinds. */
export const reviewDefinitions = (
  {
    selfSubjectReviews,
    localSubjectAccessReviews,
    selfSubjectAccessReviews,
    selfSubjectRulesReviews,
    subjectAccessReviews,
  }: ConnectedAccess["reviews"],
  tokenReviews: ReviewDefinition,
): ReviewDefinition[] => [
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
];

const unused = (): never => {
  throw new Error("these reviews only describe their schemas");
};

/** The reviews of a server without an implementation, for tests and documents that read their schemas. */
export const describedReviews = (names: Names): ReviewDefinition[] =>
  reviewDefinitions(
    accessReviews(names, { authorize: unused, rulesFor: unused, spellObjectName: unused }),
    describedTokenReviews(names, { reviewToken: unused }),
  );
