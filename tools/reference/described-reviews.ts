import { accessReviews } from "../../src/features/access/feature.ts";
import { tokenReviews } from "../../src/features/accounts/token-reviews.ts";
import { certificateReviews } from "../../src/features/revocation/certificate-reviews.ts";
import type { Names } from "../../src/machinery/api/names.ts";
import type { ReviewDefinition } from "../../src/machinery/registry/definition/review-definition.ts";
import { reviewDefinitions } from "../../src/server/served-kinds.ts";

const unused = (): never => {
  throw new Error("these reviews only describe their schemas");
};

/** The reviews without the functions that answer them, for the reference pages and for tests that read their schemas. */
export const describedReviews = (names: Names): ReviewDefinition[] =>
  reviewDefinitions(accessReviews(names, { authorize: unused, rulesFor: unused, spellObjectName: unused }), {
    tokenReviews: tokenReviews(names, { reviewToken: unused }),
    certificateReviews: certificateReviews(names, { isRevoked: unused }),
  });
