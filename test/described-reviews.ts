import { accessReviews } from "../src/features/access/feature.ts";
import { tokenReviews } from "../src/features/accounts/token-reviews.ts";
import type { Names } from "../src/machinery/api/names.ts";
import type { ReviewDefinition } from "../src/machinery/registry/resource-definition.ts";
import { reviewDefinitions } from "../src/server/review-definitions.ts";

const unused = (): never => {
  throw new Error("only the schemas are looked at");
};

/** The reviews that a server answers, for tests that read their descriptions: nothing answers them. */
export const describedReviews = (names: Names): ReviewDefinition[] =>
  reviewDefinitions(
    accessReviews(names, { authorize: unused, resolver: { rulesFor: unused } }),
    tokenReviews(names, { reviewToken: unused }),
  );
