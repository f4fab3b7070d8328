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
import { accessReviewSpec, userOf } from "./access-review-spec.ts";
import { accessReviewStatusField, reviewAccess } from "./access-review-status.ts";
import { validateAccessReviewSpec, validateEmptyMetadata } from "./access-review-validation.ts";

const subjectAccessReviewSchema = object({
  goType: "v1.SubjectAccessReview",
  description: "Checks whether a user may do something.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Must be empty." },
    spec: {
      number: 2,
      schema: accessReviewSpec,
      presence: "always",
      isRequired: true,
      description: "The request to check, and the user who would make it.",
    },
    status: accessReviewStatusField,
  },
});

export type SubjectAccessReview = Infer<typeof subjectAccessReviewSchema>;

/** The groups of a service account are not added: the caller must list them. */
export function subjectAccessReviews(
  names: Names,
  { authorize }: { readonly authorize: Authorize },
): ReviewDefinition<SubjectAccessReview> {
  return defineReview({
    group: names.group("authorization"),
    version: "v1",
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    singular: "subjectaccessreview",
    scope: "Cluster",
    schema: subjectAccessReviewSchema,
    create: async (review, { askedGroup }) => {
      const { metadata, spec } = review;
      const faults = firstFaults(() => [
        ...validateAccessReviewSpec(spec),
        ...validateEmptyMetadata(metadata, "must be empty"),
      ]);
      if (faults.length > 0) throw invalid({ group: askedGroup, resource: "" }, "", faults);
      return { object: { ...review, status: await reviewAccess(spec, { user: userOf(spec), authorize }) } };
    },
  });
}
