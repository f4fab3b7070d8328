import { accessReviews } from "../features/access/feature.ts";
import { tokenReviews } from "../features/accounts/token-reviews.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ReviewDefinition } from "../machinery/registry/resource-definition.ts";
import { reviewDefinitions } from "./review-definitions.ts";

const unused = (): never => {
  throw new Error("these reviews only describe their schemas");
};

/** The reviews of a server without an implementation, for tests and documents that read their schemas. */
export const describedReviews = (names: Names): ReviewDefinition[] =>
  reviewDefinitions(
    accessReviews(names, { authorize: unused, resolver: { rulesFor: unused }, spellObjectName: unused }),
    tokenReviews(names, { reviewToken: unused }),
  );
