import type { ConnectedAccess } from "../features/access/feature.ts";
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
