import { invalidValue } from "../../api/validation/field-error.ts";
import type { FieldError } from "../../api/validation/field-error.ts";
import { isJsonObject } from "../../api/json/json-object.ts";
import type { Schema } from "../../schema/schema.ts";

/** Finds the faults of a value at a path. */
type Finder = (value: unknown, path: string) => readonly FieldError[];

/**
 * Makes the function that finds 64-bit integers beyond 2^53, which JavaScript rounds silently. Its faults come after those of the
 * kind's own validation, whose limits are mostly lower. It does not look into values of `any`.
 */
export const compileInexactIntegers = (schema: Schema): ((value: unknown) => readonly FieldError[]) => {
  const find = finderOf(schema);
  return find === undefined ? () => [] : (value) => find(value, "");
};

/** Undefined for a schema without such integers. */
function finderOf(schema: Schema): Finder | undefined {
  if (schema.type === "int64") return inexactInteger;
  if (schema.type === "array") {
    const find = finderOf(schema.items);
    return (
      find &&
      ((value, path) =>
        Array.isArray(value) ? value.flatMap((item: unknown, index) => find(item, `${path}[${index}]`)) : [])
    );
  }
  if (schema.type === "map") {
    const find = finderOf(schema.values);
    return (
      find &&
      ((value, path) =>
        isJsonObject(value) ? Object.entries(value).flatMap(([key, item]) => find(item, `${path}[${key}]`)) : [])
    );
  }
  if (schema.type !== "object") return undefined;
  const fields = Object.entries(schema.fields).flatMap(([name, field]) => {
    const find = finderOf(field.schema);
    return find === undefined ? [] : [{ name, find }];
  });
  if (fields.length === 0) return undefined;
  return (value, path) => {
    if (!isJsonObject(value)) return [];
    const faults: FieldError[] = [];
    for (const { name, find } of fields) {
      const member = value[name];
      if (member !== undefined) faults.push(...find(member, path === "" ? name : `${path}.${name}`));
    }
    return faults;
  };
}

/** The fault shows the rounded integer, because the parser has rounded it already. */
const inexactInteger: Finder = (value, field) =>
  typeof value !== "number" || Number.isSafeInteger(value)
    ? []
    : [
        invalidValue(field, {
          value,
          detail: `must be between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}, inclusive: this server cannot keep other integers exactly`,
        }),
      ];

/** The faults of a validation, and the faults of inexact integers in fields without another fault. */
export const withInexactIntegers = (
  faults: readonly FieldError[],
  inexact: readonly FieldError[],
): readonly FieldError[] =>
  inexact.length === 0
    ? faults
    : [...faults, ...inexact.filter(({ field }) => !faults.some((fault) => fault.field === field))];

/** The faults of an update. A fault that the stored object has already, from an earlier version, does not prevent other changes. */
export function newInexactIntegers(
  schema: { inexactIntegers(value: unknown): readonly FieldError[] },
  { next, previous }: { readonly next: unknown; readonly previous: unknown },
): readonly FieldError[] {
  const faults = schema.inexactIntegers(next);
  if (faults.length === 0) return faults;
  const known = schema.inexactIntegers(previous);
  return faults.filter(({ field, message }) => !known.some((old) => old.field === field && old.message === message));
}
