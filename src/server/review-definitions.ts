import type { ConnectedAccess } from "../features/access/feature.ts";
import type { ReviewDefinition } from "../machinery/registry/resource-definition.ts";

/** What is answered and never stored. Discovery lists it in this order, after what is stored. */
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
