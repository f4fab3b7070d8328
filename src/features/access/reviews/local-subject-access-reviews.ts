import { badRequest, invalid } from "../../../machinery/api/api-error.ts";
import type { Authorize } from "../../../machinery/api/attributes.ts";
import { firstFaults, invalidValue } from "../../../machinery/api/field-error.ts";
import type { FieldError } from "../../../machinery/api/field-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineReview } from "../../../machinery/registry/resource-definition.ts";
import type { ReviewDefinition } from "../../../machinery/registry/resource-definition.ts";
import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { object } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { accessReviewSpec, userOf } from "./access-review-spec.ts";
import type { AccessReviewSpec } from "./access-review-spec.ts";
import { accessReviewStatusField, reviewAccess } from "./access-review-status.ts";
import { shownPathAttributes, validateAccessReviewSpec, validateEmptyMetadata } from "./access-review-validation.ts";

const localSubjectAccessReviewSchema = object({
  goType: "v1.LocalSubjectAccessReview",
  description:
    "Checks whether a user may do something in one namespace. A namespaced Role can grant the permission to create it.",
  fields: {
    ...typeMetaFields,
    metadata: {
      number: 1,
      schema: objectMeta,
      presence: "always",
      description: "Must be empty except for the namespace.",
    },
    spec: {
      number: 2,
      schema: accessReviewSpec,
      presence: "always",
      isRequired: true,
      description: "The request to check, in the same namespace, and the user who would make it.",
    },
    status: accessReviewStatusField,
  },
});

export type LocalSubjectAccessReview = Infer<typeof localSubjectAccessReviewSchema>;

export function localSubjectAccessReviews(
  names: Names,
  { authorize }: { readonly authorize: Authorize },
): ReviewDefinition<LocalSubjectAccessReview> {
  return defineReview({
    group: names.group("authorization"),
    version: "v1",
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    singular: "localsubjectaccessreview",
    scope: "Namespaced",
    schema: localSubjectAccessReviewSchema,
    create: async (review, { namespace, askedGroup }) => {
      const { namespace: ownNamespace = namespace, ...metadata } = review.metadata;
      const { spec } = review;
      const faults = firstFaults(() => [
        ...validateAccessReviewSpec(spec),
        ...validateEmptyMetadata(metadata, "must be empty except for namespace"),
        ...validateLocality(spec, ownNamespace),
      ]);
      if (faults.length > 0) throw invalid({ group: askedGroup, resource: "" }, "", faults);
      if (ownNamespace !== namespace) {
        throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
      }
      return { object: { ...review, status: await reviewAccess(spec, { user: userOf(spec), authorize }) } };
    },
  });
}

function validateLocality(spec: AccessReviewSpec, namespace: string): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const asked = resourceAttributes?.namespace ?? "";
  return [
    ...(resourceAttributes !== undefined && asked !== namespace
      ? [invalidValue("spec.resourceAttributes.namespace", asked, "must match metadata.namespace")]
      : []),
    ...(nonResourceAttributes === undefined
      ? []
      : [
          invalidValue(
            "spec.nonResourceAttributes",
            shownPathAttributes(nonResourceAttributes),
            "disallowed on this kind of request",
          ),
        ]),
  ];
}
