import { NamedText } from "../api/text/format-value.ts";
import { forbiddenField, invalidValue, invalidValues, required } from "../api/validation/field-error.ts";
import type { FieldError } from "../api/validation/field-error.ts";
import { labelValueFaults, qualifiedNameFaults, validateLabels } from "../api/validation/label-validation.ts";
import { metaPackage } from "./object-meta-schema.ts";
import { atomicList, mapOf, named, object, string } from "./schema.ts";
import type { Infer } from "./schema.ts";
import { always, omitEmpty } from "./struct.ts";

/** One condition of a selector that is written as a list of conditions. */
export const labelSelectorRequirement = object({
  goType: "v1.LabelSelectorRequirement",
  package: metaPackage,
  description: "A condition on the value of one label.",
  fields: {
    key: always(1, string, "The label's key.", { isRequired: true }),
    operator: always(2, named(string, "v1.LabelSelectorOperator"), "In, NotIn, Exists or DoesNotExist.", {
      isRequired: true,
    }),
    values: omitEmpty(3, atomicList(string), "The values of In and NotIn."),
  },
});

/** Selects objects by their labels. All conditions must match (upstream: `metav1.LabelSelector`). */
export const labelSelector = object({
  goType: "v1.LabelSelector",
  package: metaPackage,
  description: "Selects objects by their labels. All conditions must match. Without conditions, everything matches.",
  isAtomic: true,
  fields: {
    matchLabels: omitEmpty(1, mapOf(string), "Labels that must be present with these values."),
    matchExpressions: omitEmpty(2, atomicList(labelSelectorRequirement), "More conditions on labels."),
  },
});

type LabelSelector = Infer<typeof labelSelector>;

/** A selector as Go prints it, which upstream's tables show (upstream: `LabelSelector.String`). */
export function goLabelSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.keys(matchLabels).toSorted();
  const conditions = matchExpressions.map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(" ")}],},`,
  );
  return (
    `&LabelSelector{MatchLabels:map[string]string{${labels.map((key) => `${key}: ${matchLabels[key]},`).join("")}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${conditions.join("")}},}`
  );
}

/** Returns every fault of a selector (upstream: `ValidateLabelSelector`). */
export const validateLabelSelector = (selector: LabelSelector, field: string): FieldError[] => [
  ...validateLabels(selector.matchLabels, `${field}.matchLabels`),
  ...(selector.matchExpressions ?? []).flatMap((requirement, index) =>
    validateRequirement(requirement, `${field}.matchExpressions[${index}]`),
  ),
];

type Requirement = Infer<typeof labelSelectorRequirement>;

function validateRequirement(requirement: Requirement, field: string): FieldError[] {
  const { key, values = [] } = requirement;
  return [
    ...validateOperator(requirement, field),
    ...invalidValues(`${field}.key`, { value: key, details: qualifiedNameFaults(key) }),
    ...values.flatMap((value, index) =>
      invalidValues(`${field}.values[${index}]`, { value, details: labelValueFaults(value) }),
    ),
  ];
}

function validateOperator({ operator, values = [] }: Requirement, field: string): FieldError[] {
  const isEmpty = values.length === 0;
  switch (operator) {
    case "In":
    case "NotIn":
      return isEmpty ? [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")] : [];
    case "Exists":
    case "DoesNotExist":
      return isEmpty
        ? []
        : [forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [
        invalidValue(`${field}.operator`, { value: new NamedText(operator), detail: "not a valid selector operator" }),
      ];
  }
}
