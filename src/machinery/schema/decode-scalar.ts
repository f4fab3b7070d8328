import type { DecodeContext } from "./decode-context.ts";
import { jsonTypeOf } from "./decode-context.ts";
import { normalizeBase64 } from "./go-base64.ts";
import { normalizeMicroTime, normalizeTime } from "./go-time.ts";
import { numberLiteralAt } from "./json-reader.ts";
import { largestInt64 } from "./largest-int64.ts";
import type { ScalarSchema, ScalarType } from "./schema.ts";
import { TypeMismatch } from "./type-mismatch.ts";

/** Checks one non-null value and returns its canonical form. */
export type Decoder = (value: unknown, context: DecodeContext) => unknown;

export const scalarDecoder = (schema: ScalarSchema): Decoder => decoderMakers[schema.type](schema);

const textDecoder =
  (normalize: (text: string) => string | null) =>
  (schema: ScalarSchema): Decoder =>
  (value, context) => {
    if (typeof value !== "string") throw context.mismatch(jsonTypeOf(value), schema);
    return normalize(value);
  };

const integerDecoder =
  (bits: number) =>
  (schema: ScalarSchema): Decoder =>
  (value, context) => {
    if (typeof value !== "number") throw context.mismatch(jsonTypeOf(value), schema);
    const literal = literalOf(context);
    if (literal === undefined && Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value === 0 ? 0 : value;
    const text = literal ?? (Number.isInteger(value) ? BigInt(value).toString() : String(value));
    const isInteger = text.length <= maximumIntegerLength && /^-?\d+$/.test(text);
    if (!isInteger || BigInt.asIntN(bits, BigInt(text)) !== BigInt(text)) {
      throw context.mismatch(`number ${text}`, schema);
    }
    return Math.min(value, largestInt64);
  };

/** The digits of 2^63 and a sign. Longer literals are refused before they are parsed. */
const maximumIntegerLength = 20;

const decoderMakers: Readonly<Record<ScalarType, (schema: ScalarSchema) => Decoder>> = {
  string: textDecoder((text) => text),
  boolean: (schema) => (value, context) => {
    if (typeof value !== "boolean") throw context.mismatch(jsonTypeOf(value), schema);
    return value;
  },
  int32: integerDecoder(32),
  int64: integerDecoder(64),
  double: (schema) => (value, context) => {
    if (typeof value !== "number") throw context.mismatch(jsonTypeOf(value), schema);
    if (!Number.isFinite(value)) throw context.mismatch(`number ${literalOf(context) ?? value}`, schema);
    return value;
  },
  bytes: textDecoder(normalizeBase64),
  time: textDecoder(normalizeTime),
  microTime: textDecoder(normalizeMicroTime),
  quantity: () => (value) => {
    const isText = typeof value === "string" || typeof value === "number";
    if (!isText || !quantityPattern.test(String(value))) throw new TypeMismatch(invalidQuantity);
    return String(value);
  },
  intOrString: (schema) => {
    const decodeInteger = integerDecoder(32)(schema);
    return (value, context) => (typeof value === "string" ? value : decodeInteger(value, context));
  },
};

/** The literal of a number that was not a plain integer. */
function literalOf(context: DecodeContext): string | undefined {
  const key = context.path.at(-1);
  return typeof key === "object" || key === undefined ? undefined : numberLiteralAt(context.container, key);
}

const quantityPattern = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?$/;
const invalidQuantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
