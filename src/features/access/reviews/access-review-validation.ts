import {
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { labelValueFaults, qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import type { ObjectMeta } from "../../../machinery/api/object-meta.ts";
import type {
  AccessRequest,
  AccessReviewSpec,
  ResourceAttributesSpec,
  Requirement,
  SelectorAttributes,
} from "./access-review-spec.ts";

/** Returns every fault of a spec about the caller (upstream: `ValidateSelfSubjectAccessReviewSpec`). */
export const validateAccessRequest = (spec: AccessRequest): FieldError[] => [
  ...validateOneKind(spec),
  ...validateResourceAttributes(spec.resourceAttributes),
];

/** Returns every fault of a spec about any user (upstream: `ValidateSubjectAccessReviewSpec`). */
export const validateAccessReviewSpec = (spec: AccessReviewSpec): FieldError[] => [
  ...validateOneKind(spec),
  ...((spec.user ?? "") === "" && (spec.groups ?? []).length === 0
    ? [invalidValue("spec.user", { value: "", detail: "at least one of user or group must be specified" })]
    : []),
  ...validateResourceAttributes(spec.resourceAttributes),
];

/** A review is not stored, so its metadata must be empty. managedFields are the server's own. */
export const validateEmptyMetadata = (metadata: ObjectMeta): FieldError[] =>
  hasOnly(metadata, ["managedFields"]) ? [] : [invalidValue("metadata", { value: metadata, detail: "must be empty" })];

/** The metadata of a review in a namespace must be empty, except for the namespace that the path sets. */
export function validateLocalMetadata(metadata: ObjectMeta): FieldError[] {
  if (hasOnly(metadata, ["managedFields", "namespace"])) return [];
  const { name, generateName, ...others } = metadata;
  // Go shows the fields in the order of its struct. The namespace of the path was set last.
  const value = {
    ...(name !== undefined && { name }),
    ...(generateName !== undefined && { generateName }),
    namespace: metadata.namespace,
    ...others,
  };
  return [invalidValue("metadata", { value, detail: "must be empty except for namespace" })];
}

const hasOnly = (metadata: ObjectMeta, fields: readonly string[]): boolean =>
  Object.keys(metadata).every((field) => fields.includes(field));

/** Formats the attributes of a path like Go prints the internal struct. */
export const shownPathAttributes = ({ path = "", verb = "" }: NonNullable<AccessRequest["nonResourceAttributes"]>) => ({
  Path: path,
  Verb: verb,
});

function validateOneKind({ resourceAttributes, nonResourceAttributes }: AccessRequest): FieldError[] {
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    return [invalidValue("spec.resourceAttributes", { value: null, detail })];
  }
  if (resourceAttributes === undefined || nonResourceAttributes === undefined) return [];
  const detail = "cannot be specified in combination with resourceAttributes";
  return [invalidValue("spec.nonResourceAttributes", { value: shownPathAttributes(nonResourceAttributes), detail })];
}

function validateResourceAttributes(attributes: ResourceAttributesSpec | undefined): FieldError[] {
  const field = "spec.resourceAttributes";
  const { fieldSelector, labelSelector } = attributes ?? {};
  return [
    ...validateSelector(fieldSelector, {
      field: `${field}.fieldSelector`,
      validateRequirement: validateFieldRequirement,
    }),
    ...validateSelector(labelSelector, {
      field: `${field}.labelSelector`,
      validateRequirement: validateLabelRequirement,
    }),
  ];
}

type ValidateRequirement = (requirement: Requirement, field: string) => FieldError[];

function validateSelector(
  selector: SelectorAttributes | undefined,
  { field, validateRequirement }: { readonly field: string; readonly validateRequirement: ValidateRequirement },
): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = "", requirements = [] } = selector;
  const faults: FieldError[] = [];
  if (rawSelector !== "" && requirements.length > 0) {
    const detail = "may not specified at the same time as requirements"; // upstream's words
    faults.push(invalidValue(`${field}.rawSelector`, { value: rawSelector, detail }));
  }
  if (rawSelector === "" && requirements.length === 0) {
    faults.push(
      required(`${field}.requirements`, `when ${field} is specified, requirements or rawSelector is required`),
    );
  }
  requirements.forEach((one, index) => faults.push(...validateRequirement(one, `${field}.requirements[${index}]`)));
  return faults;
}

const validateFieldRequirement: ValidateRequirement = (requirement, field) => [
  ...(requirement.key === "" ? [required(`${field}.key`, "must be specified")] : []),
  ...validateValues(requirement, field),
];

const validateLabelRequirement: ValidateRequirement = (requirement, field) => [
  ...validateValues(requirement, field),
  ...invalidValues(`${field}.key`, { value: requirement.key, details: qualifiedNameFaults(requirement.key) }),
  ...(requirement.values ?? []).flatMap((value, index) =>
    invalidValues(`${field}.values[${index}]`, { value, details: labelValueFaults(value) }),
  ),
];

/** Unknown operators are allowed, because newer clients may know them. They are not evaluated. */
function validateValues({ operator, values = [] }: Requirement, field: string): FieldError[] {
  if ((operator === "In" || operator === "NotIn") && values.length === 0) {
    return [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    return [forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
  }
  return [];
}
