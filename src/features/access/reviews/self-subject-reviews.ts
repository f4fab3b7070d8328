import { timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineReview } from "../../../machinery/registry/definition/review-definition.ts";
import type { ReviewDefinition } from "../../../machinery/registry/definition/review-definition.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { shownUser, userInfoSchema } from "../../../machinery/schema/user-info-schema.ts";
import { always, struct } from "../../../machinery/schema/struct.ts";

const selfSubjectReviewSchema = struct(
  "v1.SelfSubjectReview",
  "Returns the user that the caller is authenticated as. With impersonation: the impersonated user.",
  {
    ...objectFields,
    status: always(
      2,
      object({
        goType: "v1.SelfSubjectReviewStatus",
        description: "The attributes of the caller.",
        fields: {
          userInfo: always(
            1,
            userInfoSchema,
            "The caller. With impersonation, and behind a front proxy, the keys of `extra` are in lower case.",
          ),
        },
      }),
      "The result. Set by the server.",
    ),
  },
);

export type SelfSubjectReview = Infer<typeof selfSubjectReviewSchema>;

/** Answers who the caller is. The answer contains nothing of the request's body. */
export const selfSubjectReviews = (names: Names): ReviewDefinition<SelfSubjectReview> =>
  defineReview({
    group: names.group("authentication"),
    version: "v1",
    kind: "SelfSubjectReview",
    scope: "Cluster",
    schema: selfSubjectReviewSchema,
    dropsMetadata: true,
    create: async ({ apiVersion, kind }, { user, now, requestedGroup }) => ({
      object: {
        apiVersion,
        kind,
        metadata: { creationTimestamp: timestamp(now) },
        status: { userInfo: shownUser(user, names.spellingOf(requestedGroup)) },
      },
    }),
  });
