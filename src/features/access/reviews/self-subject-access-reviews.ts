import { invalid } from "../../../machinery/api/api-error.ts";
import type { Authorize } from "../../../machinery/api/attributes.ts";
import { firstFaults } from "../../../machinery/api/field-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineReview } from "../../../machinery/registry/resource-definition.ts";
import type { ReviewDefinition } from "../../../machinery/registry/resource-definition.ts";
import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { selfAccessReviewSpec } from "./access-review-spec.ts";
import { accessReviewStatusField, reviewAccess } from "./access-review-status.ts";
import { validateAccessRequest, validateEmptyMetadata } from "./access-review-validation.ts";

const selfSubjectAccessReviewSchema = object({
  goType: "v1.SelfSubjectAccessReview",
  description: "Checks whether the caller may do something.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Must be empty." },
    spec: {
      number: 2,
      schema: selfAccessReviewSpec,
      presence: "always",
      isRequired: true,
      description: "The request to check.",
    },
    status: accessReviewStatusField,
  },
});

export type SelfSubjectAccessReview = Infer<typeof selfSubjectAccessReviewSchema>;

export function selfSubjectAccessReviews(
  names: Names,
  { authorize }: { readonly authorize: Authorize },
): ReviewDefinition<SelfSubjectAccessReview> {
  return defineReview({
    group: names.group("authorization"),
    version: "v1",
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    singular: "selfsubjectaccessreview",
    scope: "Cluster",
    schema: selfSubjectAccessReviewSchema,
    create: async (review, { user, askedGroup }) => {
      const { metadata, spec } = review;
      const faults = firstFaults(() => [
        ...validateAccessRequest(spec),
        ...validateEmptyMetadata(metadata, "must be empty"),
      ]);
      // Upstream's error for an access review names no kind.
      if (faults.length > 0) throw invalid({ group: askedGroup, resource: "" }, "", faults);
      return { object: { ...review, status: await reviewAccess(spec, { user, authorize }) } };
    },
  });
}
