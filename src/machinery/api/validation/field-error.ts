import { maximumShownLength, NamedText, shortened, formatValue } from "../text/format-value.ts";

/** Why a field was refused: the `reason` of a Status cause. */
type FieldErrorReason =
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
 * One fault of an object, with the path of the field. Validators never throw: they return all faults, in field order
 * (upstream: apimachinery's `field.Error`).
 */
export interface FieldError {
  readonly reason: FieldErrorReason;
  /** Such as `metadata.labels[app]` or `spec.usages[2]`. */
  readonly field: string;
  /** The message of the cause without the field: `Required value: name or generateName is required`. */
  readonly message: string;
}

/** The faults in one line, each with its field. */
export const formatFaults = (faults: readonly Pick<FieldError, "field" | "message">[]): string =>
  faults.map(({ field, message }) => `${field}: ${message}`).join("; ");

/** A longer list of allowed values is cut. */
const maximumSupportedLength = 4096;

/**
 * Creates a fault. Long texts of the caller are shortened: `field` contains map keys, `detail` contains names and
 * values.
 */
const fault = (reason: FieldErrorReason, { field, summary, detail }: Sentence): FieldError =>
  recordFault({
    reason,
    field: shortened(field),
    message: `${summary}${detail === "" ? "" : `: ${shortened(detail, 2 * maximumShownLength)}`}`,
  });

interface Sentence {
  readonly field: string;
  /** `Invalid value: "x"`. */
  readonly summary: string;
  /** Empty when the summary is enough. */
  readonly detail: string;
}

export const required = (field: string, detail: string): FieldError =>
  fault("FieldValueRequired", { field, summary: "Required value", detail });

export const invalidValue = (
  field: string,
  { value, detail }: { readonly value: unknown; readonly detail: string },
): FieldError => fault("FieldValueInvalid", { field, summary: `Invalid value: ${formatValue(value)}`, detail });

/** A fault for each of the details. */
export const invalidValues = (
  field: string,
  { value, details }: { readonly value: unknown; readonly details: readonly string[] },
): FieldError[] => details.map((detail) => invalidValue(field, { value, detail }));

export const notSupported = (
  field: string,
  { value, supported }: { readonly value: unknown; readonly supported: readonly string[] },
): FieldError => {
  const values = supported.map((one) => JSON.stringify(one)).join(", ");
  return fault("FieldValueNotSupported", {
    field,
    summary: `Unsupported value: ${formatValue(value)}${
      values === "" ? "" : `: supported values: ${shortened(values, maximumSupportedLength)}`
    }`,
    detail: "",
  });
};

/** The fault of a value that must be one of the supported ones, and whose type has a name of its own in Go. A missing value is no fault. */
export const validateChoice = (
  field: string,
  { value, supported }: { readonly value: string | undefined; readonly supported: readonly string[] },
): FieldError[] =>
  value === undefined || supported.includes(value)
    ? []
    : [notSupported(field, { value: new NamedText(value), supported })];

export const forbiddenField = (field: string, detail: string): FieldError =>
  fault("FieldValueForbidden", { field, summary: "Forbidden", detail });

export const duplicate = (field: string, value: unknown): FieldError =>
  fault("FieldValueDuplicate", { field, summary: `Duplicate value: ${formatValue(value)}`, detail: "" });

export const tooLong = (field: string, maximumBytes: number): FieldError =>
  fault("FieldValueTooLong", { field, summary: `Too long: may not be more than ${maximumBytes} bytes`, detail: "" });

export const tooMany = (field: string, { count, maximum }: { count: number; maximum: number }): FieldError =>
  fault("FieldValueTooMany", {
    field,
    summary: `Too many: ${count}: must have at most ${maximum} items`,
    detail: "",
  });

/** The answer shows at most this many faults of one object. */
export const maximumFaults = 100;

/** Stops a validation that has found enough faults. Only `firstFaults` catches it. */
class EnoughFaults extends Error {}

/** The faults of the current validation; undefined when no validation is running. */
let found: FieldError[] | undefined;

/**
 * Runs a validation and returns its first faults: at most one more than are shown, which tells that there are more. The
 * validation stops there, so that time and memory do not grow with the number of faults in the caller's input.
 * Validation is synchronous, so only one runs at a time.
 */
export function firstFaults(validate: () => readonly FieldError[]): readonly FieldError[] {
  const outer = found;
  const made: FieldError[] = [];
  found = made;
  try {
    return validate().slice(0, maximumFaults + 1);
  } catch (error) {
    if (error instanceof EnoughFaults) return made;
    throw error;
  } finally {
    found = outer;
  }
}

/** Records a fault at the moment when a validator creates it. */
function recordFault(fault: FieldError): FieldError {
  if (found === undefined) return fault;
  found.push(fault);
  if (found.length > maximumFaults) throw new EnoughFaults();
  return fault;
}
