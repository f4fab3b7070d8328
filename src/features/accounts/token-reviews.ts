import { badRequest } from "../../machinery/api/api-error.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";
import { defineReview } from "../../machinery/registry/resource-definition.ts";
import type { ReviewDefinition } from "../../machinery/registry/resource-definition.ts";
import { typeMetaFields } from "../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../machinery/schema/object-meta-schema.ts";
import { atomicList, boolean, object, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { shownUser, userInfoSchema } from "../../machinery/schema/user-info-schema.ts";

const tokenReviewSchema = object({
  goType: "v1.TokenReview",
  description: "Asks whose token it is.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    spec: {
      number: 2,
      presence: "always",
      isRequired: true,
      description: "The token, and for whom it is to be checked.",
      schema: object({
        goType: "v1.TokenReviewSpec",
        description: "The token, and for whom it is to be checked.",
        fields: {
          token: { number: 1, schema: string, description: "The opaque bearer token." },
          audiences: {
            number: 2,
            schema: atomicList(string),
            description:
              "The names that the one who asks goes by; the token must be meant for at least one of them. Empty: those of " +
              "this API server.",
          },
        },
      }),
    },
    status: {
      number: 3,
      presence: "always",
      description: "What was found out. Set by the server.",
      schema: object({
        goType: "v1.TokenReviewStatus",
        description: "What was found out about a token.",
        fields: {
          authenticated: { number: 1, schema: boolean, description: "Whether the token belongs to a known user." },
          user: { number: 2, schema: userInfoSchema, presence: "always", description: "The user of the token." },
          error: { number: 3, schema: string, description: "Why the token could not be accepted." },
          audiences: {
            number: 4,
            schema: atomicList(string),
            description:
              "The names of the request that the token is meant for. Who sent names must check that one came back.",
          },
        },
      }),
    },
  },
});

export type TokenReview = Infer<typeof tokenReviewSchema>;

export interface TokenReviewOptions {
  /** Without audiences, the token is checked for the audiences of this API. */
  reviewToken(
    token: string,
    audiences: readonly string[],
  ):
    | { readonly isAuthenticated: true; readonly user: UserInfo; readonly audiences: readonly string[] }
    | { readonly isAuthenticated: false; readonly error: string };
}

/** An invalid token is a normal answer, not an error. Only a missing token is an error. */
export const tokenReviews = (names: Names, { reviewToken }: TokenReviewOptions): ReviewDefinition<TokenReview> =>
  defineReview({
    group: names.group("authentication"),
    version: "v1",
    kind: "TokenReview",
    plural: "tokenreviews",
    singular: "tokenreview",
    scope: "Cluster",
    schema: tokenReviewSchema,
    create: async (review) => {
      const { token = "", audiences = [] } = review.spec;
      if (token === "") throw badRequest("token is required for TokenReview in authentication");
      const found = reviewToken(token, audiences);
      const status: TokenReview["status"] = found.isAuthenticated
        ? { authenticated: true, user: shownUser(found.user), audiences: [...found.audiences] }
        : { user: {}, error: found.error };
      return { object: { ...review, status } };
    },
  });
