import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineReview } from "../../../machinery/registry/resource-definition.ts";
import type { ReviewDefinition } from "../../../machinery/registry/resource-definition.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { shownUser, userInfoSchema } from "../../../machinery/schema/user-info-schema.ts";

const selfSubjectReviewSchema = object({
  goType: "v1.SelfSubjectReview",
  description: "Returns the user that the caller is authenticated as. With impersonation: the impersonated user.",
  fields: {
    ...objectFields,
    status: {
      number: 2,
      presence: "always",
      description: "The result. Set by the server.",
      schema: object({
        goType: "v1.SelfSubjectReviewStatus",
        description: "The attributes of the caller.",
        fields: {
          userInfo: { number: 1, schema: userInfoSchema, presence: "always", description: "The caller." },
        },
      }),
    },
  },
});

export type SelfSubjectReview = Infer<typeof selfSubjectReviewSchema>;

/** The answer contains nothing of the request's body. */
export const selfSubjectReviews = (names: Names): ReviewDefinition<SelfSubjectReview> =>
  defineReview({
    group: names.group("authentication"),
    version: "v1",
    kind: "SelfSubjectReview",
    plural: "selfsubjectreviews",
    singular: "selfsubjectreview",
    scope: "Cluster",
    schema: selfSubjectReviewSchema,
    dropsMetadata: true,
    create: async ({ apiVersion, kind }, { user, now, askedGroup }) => ({
      object: {
        apiVersion,
        kind,
        metadata: { creationTimestamp: timestamp(now) },
        status: { userInfo: shownUser(user, names.spellingOf(askedGroup)) },
      },
    }),
  });
