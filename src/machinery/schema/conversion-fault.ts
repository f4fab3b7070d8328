import type { ScalarType, Schema } from "./schema.ts";

interface Target {
  readonly schema: Schema;
  /** The text of a number that is not written as a plain integer. */
  readonly literal: string;
  readonly goType: string;
}

/**
 * The message of upstream's `DefaultUnstructuredConverter` for a value of the wrong type. Undefined for types that decode themselves from
 * JSON, for which Go's decoder has the message.
 */
export function conversionFault(value: unknown, { schema, literal, goType }: Target): string | undefined {
  const kind = kindOf(value, literal);
  if (schema.type === "array" || schema.type === "bytes") return `cannot restore slice from ${kind}`;
  if (schema.type === "map") return `cannot restore map from ${kind}`;
  if (schema.type === "object") return `cannot restore struct from: ${kind}`;
  const scalar = goType === "uint8" ? goType : schema.type === "any" ? undefined : goKinds[schema.type];
  if (scalar === undefined) return undefined;
  const isConvertible = kind === "int64" || (kind === "float64" && scalar !== "string");
  return isConvertible && scalar !== "bool" ? `cannot convert ${kind} to ${goType}` : `unrecognized type: ${scalar}`;
}

export const isTime = ({ type }: Schema): boolean => type === "time" || type === "microTime";

const goKinds: Readonly<Partial<Record<ScalarType, string>>> = {
  string: "string",
  boolean: "bool",
  int32: "int32",
  int64: "int64",
};

/** Go's kind of a JSON value. */
function kindOf(value: unknown, literal: string): string {
  if (Array.isArray(value)) return "slice";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "object") return "map";
  if (typeof value !== "number") return "string";
  return isInt64(value) && /^-?\d*$/.test(literal) ? "int64" : "float64";
}

/** Whether Go reads a number into a map as an int64. Other numbers become a float64 there. */
export const isInt64 = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;
