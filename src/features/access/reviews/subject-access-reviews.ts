import { invalid } from "../../../machinery/api/api-error.ts";
import type { Authorize } from "../../../machinery/api/attributes.ts";
import { firstFaults, invalidValue } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { defineReview } from "../../../machinery/registry/definition/review-definition.ts";
import type { ReviewDefinition } from "../../../machinery/registry/definition/review-definition.ts";
import { typeMetaFields } from "../../../machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../machinery/schema/object-meta-schema.ts";
import { boolean, string } from "../../../machinery/schema/schema.ts";
import type { Infer, ObjectSchema } from "../../../machinery/schema/schema.ts";
import {
  selectorEvaluationErrors,
  accessReviewSpec,
  userOf,
  selfAccessReviewSpec,
  reviewedAttributes,
} from "./access-review-spec.ts";
import type { AccessReviewSpec, AccessRequest } from "./access-review-spec.ts";
import {
  validateAccessReviewSpec,
  validateEmptyMetadata,
  validateLocalMetadata,
  validateAccessRequest,
  shownPathAttributes,
} from "./access-review-validation.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { always, omitEmpty, required, struct } from "../../../machinery/schema/struct.ts";

const accessReviewStatus = struct("v1.SubjectAccessReviewStatus", "Whether the request would be allowed.", {
  allowed: required(1, boolean, "Whether the request would be allowed."),
  denied: omitEmpty(
    4,
    boolean,
    "Whether an authorizer denied the request explicitly. False when no authorizer had an opinion.",
  ),
  reason: omitEmpty(2, string, "Why."),
  evaluationError: omitEmpty(3, string, "An error during the evaluation. `allowed` is valid even so."),
});

/** The field `status` of every access review. */
const accessReviewStatusField = always(3, accessReviewStatus, "The result. Set by the server.");

export type AccessReviewStatus = Infer<typeof accessReviewStatus>;

async function reviewAccess(
  request: AccessRequest,
  { user, asker, authorize }: { readonly user: UserInfo; readonly asker: UserInfo; readonly authorize: Authorize },
): Promise<AccessReviewStatus> {
  const attributes = { ...reviewedAttributes(request, user), askedBy: asker };
  const { decision, reason, evaluationError } = await authorize(attributes);
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

/** The differences between the kinds of access reviews. */
interface AccessReviewKind<T extends AccessReview> {
  readonly kind: string;
  readonly scope: ReviewDefinition["scope"];
  readonly schema: ObjectSchema<T>;
  readonly validate: (review: T, context: { readonly namespace: string }) => FieldError[];
  /** The user who would make the request. Default: the caller. */
  readonly userOf?: (spec: T["spec"]) => UserInfo;
}

interface AccessReview extends ApiObject {
  readonly spec: AccessRequest;
}

/** Defines a kind of access review that a server with an authorizer answers. */
const defineAccessReview =
  <T extends AccessReview>({ kind, scope, schema, validate, userOf: subjectOf }: AccessReviewKind<T>) =>
  (names: Names, { authorize }: { readonly authorize: Authorize }): ReviewDefinition<T> =>
    defineReview({
      group: names.group("authorization"),
      version: "v1",
      kind,
      scope,
      schema,
      create: async (review, { user, namespace, requestedGroup }) => {
        const faults = firstFaults(() => validate(review, { namespace }));
        // Upstream's error for an access review names no kind.
        if (faults.length > 0) throw invalid({ group: requestedGroup, resource: "" }, { faults });
        const { spec } = review;
        const status = await reviewAccess(spec, { user: subjectOf?.(spec) ?? user, asker: user, authorize });
        return { object: { ...review, status } };
      },
    });

/** Reviews the access of any user. The groups of a service account are not added: the caller must list them. */
export const subjectAccessReviews = defineAccessReview({
  kind: "SubjectAccessReview",
  scope: "Cluster",
  schema: struct("v1.SubjectAccessReview", "Checks whether a user may do something.", {
    ...typeMetaFields,
    metadata: always(1, objectMeta, "Must be empty."),
    spec: required(2, accessReviewSpec, "The request to check, and the user who would make it."),
    status: accessReviewStatusField,
  }),
  validate: ({ metadata, spec }) => [...validateAccessReviewSpec(spec), ...validateEmptyMetadata(metadata)],
  userOf,
});

export const selfSubjectAccessReviews = defineAccessReview({
  kind: "SelfSubjectAccessReview",
  scope: "Cluster",
  schema: struct("v1.SelfSubjectAccessReview", "Checks whether the caller may do something.", {
    ...typeMetaFields,
    metadata: always(1, objectMeta, "Must be empty."),
    spec: required(2, selfAccessReviewSpec, "The request to check."),
    status: accessReviewStatusField,
  }),
  validate: ({ metadata, spec }) => [...validateAccessRequest(spec), ...validateEmptyMetadata(metadata)],
});

export const localSubjectAccessReviews = defineAccessReview({
  kind: "LocalSubjectAccessReview",
  scope: "Namespaced",
  schema: struct(
    "v1.LocalSubjectAccessReview",
    "Checks whether a user may do something in one namespace. A namespaced Role can grant the permission to create it.",
    {
      ...typeMetaFields,
      metadata: always(1, objectMeta, "Must be empty except for the namespace."),
      spec: required(
        2,
        accessReviewSpec,
        "The request to check, in the same namespace, and the user who would make it.",
      ),
      status: accessReviewStatusField,
    },
  ),
  validate: ({ metadata, spec }, { namespace }) => [
    ...validateAccessReviewSpec(spec),
    ...validateLocalMetadata(metadata),
    ...validateLocality(spec, namespace),
  ],
  userOf,
});

function validateLocality(spec: AccessReviewSpec, namespace: string): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const requested = resourceAttributes?.namespace ?? "";
  return [
    ...(resourceAttributes !== undefined && requested !== namespace
      ? [
          invalidValue("spec.resourceAttributes.namespace", {
            value: requested,
            detail: "must match metadata.namespace",
          }),
        ]
      : []),
    ...(nonResourceAttributes === undefined
      ? []
      : [
          invalidValue("spec.nonResourceAttributes", {
            value: shownPathAttributes(nonResourceAttributes),
            detail: "disallowed on this kind of request",
          }),
        ]),
  ];
}
