import { invalidValues, tooLong } from "./field-error.ts";
import type { FieldError } from "./field-error.ts";
import {
  maximumLabelLength,
  maximumSubdomainLength,
  patternMessage,
  subdomainPatternFaults,
} from "./name-validation.ts";

const keyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const valueFormat = `(${keyFormat})?`;
const keyPattern = new RegExp(`^${keyFormat}$`);
const valuePattern = new RegExp(`^${valueFormat}$`);
const keyRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const keyExamples = ["MyName", "my.name", "123-abc"];

/** For all annotations of an object together, keys and values, in bytes. */
export const maximumAnnotationBytes = 256 * 1024;

const maximumBytes = (bytes: number): string => `must be no more than ${bytes} bytes`;

/** The key of a label, an annotation or a finalizer: `[prefix/]name` (upstream: `IsQualifiedName`). */
export function qualifiedNameFaults(value: string): string[] {
  const parts = value.split("/", 3);
  if (parts.length > 2) {
    return [
      `a valid label key ${patternMessage(keyRule, { format: keyFormat, examples: keyExamples })}` +
        " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ];
  }
  const name = parts.at(-1) ?? "";
  const faults = parts.length === 2 ? prefixFaults(parts[0] ?? "").map((fault) => `prefix part ${fault}`) : [];
  if (name === "") faults.push("name part must be non-empty");
  else if (Buffer.byteLength(name) > maximumLabelLength) faults.push(`name part ${maximumBytes(maximumLabelLength)}`);
  if (!keyPattern.test(name)) {
    faults.push(`name part ${patternMessage(keyRule, { format: keyFormat, examples: keyExamples })}`);
  }
  return faults;
}

function prefixFaults(prefix: string): string[] {
  if (prefix === "") return ["must be non-empty"];
  const pattern = subdomainPatternFaults(prefix);
  return Buffer.byteLength(prefix) > maximumSubdomainLength
    ? [maximumBytes(maximumSubdomainLength), ...pattern]
    : pattern;
}

/** A label's value (upstream: `IsValidLabelValue`). */
export function labelValueFaults(value: string): string[] {
  const faults: string[] = [];
  if (Buffer.byteLength(value) > maximumLabelLength) faults.push(maximumBytes(maximumLabelLength));
  if (!valuePattern.test(value)) {
    faults.push(
      patternMessage(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        { format: valueFormat, examples: ["MyValue", "my_value", "12345"] },
      ),
    );
  }
  return faults;
}

/** Returns the faults of keys and values, in map order. */
export function validateLabels(labels: Readonly<Record<string, string>> | undefined, field: string): FieldError[] {
  const faults: FieldError[] = [];
  for (const [key, value] of Object.entries(labels ?? {})) {
    faults.push(...invalidValues(field, { value: key, details: qualifiedNameFaults(key) }));
    faults.push(...invalidValues(field, { value, details: labelValueFaults(value) }));
  }
  return faults;
}

/**
 * Like labels, except: the case of keys does not matter, any value is allowed, and all annotations together are limited
 * to 256 KiB.
 */
export function validateAnnotations(annotations: Readonly<Record<string, string>>): FieldError[] {
  const field = "metadata.annotations";
  const faults: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
    faults.push(...invalidValues(field, { value: key, details: qualifiedNameFaults(key.toLowerCase()) }));
  }
  if (size > maximumAnnotationBytes) faults.push(tooLong(field, maximumAnnotationBytes));
  return faults;
}
