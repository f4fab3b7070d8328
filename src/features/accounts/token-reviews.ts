import { badRequest } from "../../machinery/api/api-error.ts";
import type { Names } from "../../machinery/api/names.ts";
import { credentialWarnings } from "../../machinery/authentication/presented-credential.ts";
import type { ReviewToken } from "../../machinery/authentication/token-authentication.ts";
import { sharePath } from "../../machinery/scheduling/share-path.ts";
import { defineReview } from "../../machinery/registry/definition/review-definition.ts";
import type { ReviewDefinition } from "../../machinery/registry/definition/review-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { atomicList, boolean, object, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { shownUser, userInfoSchema } from "../../machinery/schema/user-info-schema.ts";
import { always, omitEmpty, required, struct } from "../../machinery/schema/struct.ts";

/** A token, and the server's answer about it. */
export const tokenReviewSchema = struct("v1.TokenReview", "Checks a token and returns its user.", {
  ...objectFields,
  spec: required(
    2,
    object({
      goType: "v1.TokenReviewSpec",
      description: "The token and the expected audiences.",
      fields: {
        token: omitEmpty(1, string, "The bearer token to check.", { isRequired: true }),
        audiences: omitEmpty(
          2,
          atomicList(string),
          "The audiences of the service that checks the token. The token must have at least one of them. Empty: those of " +
            "this API server.",
        ),
      },
    }),
    "The token and the expected audiences.",
  ),
  status: always(
    3,
    object({
      goType: "v1.TokenReviewStatus",
      description: "The result of a token review.",
      fields: {
        authenticated: omitEmpty(1, boolean, "Whether the token is valid for one of the audiences."),
        user: always(2, userInfoSchema, "The user of the token."),
        error: omitEmpty(3, string, "Why the token is not valid."),
        audiences: omitEmpty(
          4,
          atomicList(string),
          "The requested audiences that the token has. A client that requests audiences must check that this list is not " +
            "empty. A valid token without this list is for the API server.",
        ),
      },
    }),
    "The result. Set by the server.",
  ),
});

export type TokenReview = Infer<typeof tokenReviewSchema>;

/** Reviews tokens. An invalid token is a normal result. Only a missing token is an error. */
export const tokenReviews = (
  names: Names,
  { reviewToken }: { readonly reviewToken: ReviewToken },
): ReviewDefinition<TokenReview> =>
  defineReview({
    group: names.group("authentication"),
    version: "v1",
    kind: "TokenReview",
    scope: "Cluster",
    schema: tokenReviewSchema,
    confidentialFields: [["spec", "token"]],
    create: async (review, { requestedGroup, user }) => {
      const { token = "", audiences = [] } = review.spec;
      if (token === "") throw badRequest("token is required for TokenReview in authentication");
      const found = await reviewToken(token, { audiences, asker: () => sharePath(user) });
      const status: TokenReview["status"] = found.isAuthenticated
        ? {
            authenticated: true,
            user: shownUser(found.user, names.spellingOf(requestedGroup)),
            audiences: [...found.audiences],
          }
        : { user: {}, error: found.error };
      const warnings = found.isAuthenticated ? credentialWarnings(found.user) : [];
      return { object: { ...review, status }, warnings };
    },
  });
