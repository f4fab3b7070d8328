import type { Authorize } from "../../../machinery/api/attributes.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { boolean, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { reviewedAttributes } from "./access-review-spec.ts";
import type { AccessRequest } from "./access-review-spec.ts";
import { selectorEvaluationErrors } from "./access-review-validation.ts";

const accessReviewStatus = object({
  goType: "v1.SubjectAccessReviewStatus",
  description: "Whether the request would be allowed.",
  fields: {
    allowed: {
      number: 1,
      schema: boolean,
      presence: "always",
      isRequired: true,
      description: "Whether the request would be allowed.",
    },
    denied: {
      number: 4,
      schema: boolean,
      description: "Whether an authorizer denied the request explicitly. False when no authorizer had an opinion.",
    },
    reason: { number: 2, schema: string, description: "Why." },
    evaluationError: {
      number: 3,
      schema: string,
      description: "An error during the evaluation. `allowed` is valid even so.",
    },
  },
});

/** The field `status` of every access review. */
export const accessReviewStatusField = {
  number: 3,
  schema: accessReviewStatus,
  presence: "always",
  description: "The result. Set by the server.",
} as const;

export type AccessReviewStatus = Infer<typeof accessReviewStatus>;

export async function reviewAccess(
  request: AccessRequest,
  { user, authorize }: { readonly user: UserInfo; readonly authorize: Authorize },
): Promise<AccessReviewStatus> {
  const { decision, reason, evaluationError } = await authorize(reviewedAttributes(request, user));
  const errors = [
    ...(evaluationError === undefined ? [] : [evaluationError]),
    ...selectorEvaluationErrors(request.resourceAttributes),
  ];
  return {
    allowed: decision === "allow",
    ...(decision === "deny" && { denied: true }),
    ...(reason !== "" && { reason }),
    ...(errors.length > 0 && { evaluationError: errors.join("; ") }),
  };
}
