/** Why a field was refused: the reason words of a Status cause. */
export type FieldErrorReason =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueDuplicate"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueNotFound"
  | "FieldValueTypeInvalid";

/**
 * One fault of an object, with the path of the field. Validators return all faults, in the order of the fields, and
 * never throw (upstream: apimachinery's `field.Error`).
 */
export interface FieldError {
  readonly reason: FieldErrorReason;
  /** As `metadata.labels[app]` or `spec.usages[2]`. */
  readonly field: string;
  /** The cause's message without the field: `Required value: name or generateName is required`. */
  readonly message: string;
}

const detailOf = (detail: string): string => (detail === "" ? "" : `: ${detail}`);

/** The offending value as Go prints it in field errors: strings quoted, structures as JSON, the rest plain. */
export function quoteValue(value: unknown): string {
  if (value === undefined || value === null) return "null";
  return typeof value === "number" || typeof value === "boolean" ? String(value) : JSON.stringify(value);
}

export const required = (field: string, detail: string): FieldError => ({
  reason: "FieldValueRequired",
  field,
  message: `Required value${detailOf(detail)}`,
});

export const invalidValue = (field: string, value: unknown, detail: string): FieldError => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${quoteValue(value)}${detailOf(detail)}`,
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  reason: "FieldValueNotSupported",
  field,
  message: `Unsupported value: ${quoteValue(value)}${
    supported.length === 0 ? "" : `: supported values: ${supported.map((one) => JSON.stringify(one)).join(", ")}`
  }`,
});

export const forbiddenField = (field: string, detail: string): FieldError => ({
  reason: "FieldValueForbidden",
  field,
  message: `Forbidden${detailOf(detail)}`,
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  reason: "FieldValueDuplicate",
  field,
  message: `Duplicate value: ${quoteValue(value)}`,
});

export const tooLong = (field: string, maximumBytes: number): FieldError => ({
  reason: "FieldValueTooLong",
  field,
  message: `Too long: may not be more than ${maximumBytes} bytes`,
});
