import type { DecodeContext } from "./decode-context.ts";
import { normalizeMicroTime, normalizeTime } from "./go-time.ts";
import { numberLiteralAt } from "./json-reader.ts";
import type { ScalarSchema, ScalarType } from "./schema.ts";
import { InvalidQuantity, parseQuantity } from "../api/quantity.ts";
import { TypeMismatch } from "./decode-faults.ts";

/**
 * The largest number below 2^63. Integers beyond 2^53 become the nearest number, which for the largest ones is 2^63. That is no int64:
 * clients could not read the object, nor a list that contains it.
 */
export const largestInt64: number = 2 ** 63 - 2 ** 10;

/** Checks one non-null value and returns its canonical form. */
export type Decoder = (value: unknown, context: DecodeContext) => unknown;

export const scalarDecoder = (schema: ScalarSchema): Decoder => decoderMakers[schema.type](schema);

const timeDecoder =
  (normalize: (text: string) => string | null) =>
  (schema: ScalarSchema): Decoder =>
  (value, context) => {
    if (typeof value !== "string") throw context.mismatch(value, { schema });
    return normalize(value);
  };

const integerDecoder =
  (bits: number) =>
  (schema: ScalarSchema): Decoder =>
  (value, context) => {
    if (typeof value !== "number") return context.saveMismatch(value, { schema });
    const literal = literalOf(context);
    if (literal === undefined && Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value === 0 ? 0 : value;
    const text = literal ?? (Number.isInteger(value) ? BigInt(value).toString() : String(value));
    const isInteger = text.length <= maximumIntegerLength && /^-?\d+$/.test(text);
    if (!isInteger || BigInt.asIntN(bits, BigInt(text)) !== BigInt(text)) {
      return context.saveMismatch(value, { schema, literal: text });
    }
    return Math.min(value, largestInt64);
  };

/** Base64, or a list of numbers, which Go's decoder takes for bytes too. */
const bytesDecoder = (schema: ScalarSchema): Decoder => {
  return (value, context) => {
    if (Array.isArray(value)) return bytesOf(value, context);
    if (typeof value !== "string") return context.saveMismatch(value, { schema });
    return normalizeBase64(value, context);
  };
};

function bytesOf(items: readonly unknown[], context: DecodeContext): string {
  const numbers = items.map((item) => {
    if (item === null) return 0;
    const isByte = typeof item === "number" && Number.isInteger(item) && item >= 0 && item <= 255;
    if (isByte) return item;
    const literal = typeof item === "number" ? String(item) : "";
    context.saveMismatch(item, { schema: { type: "int32", goType: "uint8" }, literal });
    return 0;
  });
  return Buffer.from(numbers).toString("base64");
}

/** The digits of 2^63 and a sign. Longer literals are refused before they are parsed. */
const maximumIntegerLength = 20;

const decoderMakers: Readonly<Record<ScalarType, (schema: ScalarSchema) => Decoder>> = {
  string: (schema) => (value, context) => {
    if (typeof value !== "string") return context.saveMismatch(value, { schema });
    return value;
  },
  boolean: (schema) => (value, context) => {
    if (typeof value !== "boolean") return context.saveMismatch(value, { schema });
    return value;
  },
  int32: integerDecoder(32),
  int64: integerDecoder(64),
  bytes: bytesDecoder,
  time: timeDecoder(normalizeTime),
  microTime: timeDecoder(normalizeMicroTime),
  quantity: (schema) => (value, context) => {
    if (typeof value === "number") {
      const literal = literalOf(context);
      // A patch moved the number, so its literal is unknown, and the number was rounded.
      if (literal === undefined && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
        throw context.mismatch(value, { schema, literal: String(value) });
      }
      return canonicalQuantity(literal ?? String(value));
    }
    // A value that is neither a number nor a text becomes a text that is no quantity.
    return canonicalQuantity(typeof value === "string" ? value.trim() : "{}");
  },
  intOrString: (schema) => {
    const decodeInteger = integerDecoder(32)(schema);
    return (value, context) => (typeof value === "string" ? value : decodeInteger(value, context));
  },
};

/** Throws a TypeMismatch in upstream's words. */
function canonicalQuantity(text: string): string {
  try {
    return parseQuantity(text).canonical;
  } catch (error) {
    if (error instanceof InvalidQuantity) throw new TypeMismatch(error.message);
    throw error;
  }
}

/** The literal of a number that was not a plain integer. */
function literalOf(context: DecodeContext): string | undefined {
  const step = context.path.at(-1);
  if (step === undefined) return undefined;
  return numberLiteralAt(context.container, typeof step === "object" ? step.key : step);
}

/**
 * Returns standard padded base64 in canonical form: without the line breaks and stray bits that Go's decoder accepts.
 * Saves a fault with Go's message for text that Go refuses.
 */
function normalizeBase64(text: string, context: DecodeContext): string | undefined {
  const joined = text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]/g, "") : text;
  const canonical = Buffer.from(joined, "base64").toString("base64");
  if (canonical === joined) return joined;
  // Node.js decodes more than Go does. Stray bits are all that Go accepts too.
  const found = joined.search(/[^A-Za-z0-9+/]/);
  const digitCount = found < 0 ? joined.length : found;
  if (joined.length % 4 !== 0 || !/^={0,2}$/.test(joined.slice(digitCount))) {
    return context.saveUnreadableBytes(`illegal base64 data at input byte ${faultPosition(text, digitCount)}`);
  }
  return canonical;
}

/** The position where Go's decoder stops. It reads groups of four characters. */
function faultPosition(text: string, digitCount: number): number {
  const digits = digitCount % 4;
  const position = text.search(/[^A-Za-z0-9+/\r\n]/);
  // The input ends inside a group: Go subtracts the number of digits in the group.
  if (position < 0) return bytesBefore(text, text.length - digits);
  return text[position] === "=" ? paddingFaultPosition(text, { position, digits }) : bytesBefore(text, position);
}

function paddingFaultPosition(text: string, { position, digits }: { position: number; digits: number }): number {
  if (digits < 2) return position;
  const next = skipLineBreaks(text, position + 1);
  if (digits === 3) return next;
  if (next >= text.length) return text.length;
  return text[next] === "=" ? skipLineBreaks(text, next + 1) : next - 1;
}

function skipLineBreaks(text: string, from: number): number {
  let position = from;
  while (text[position] === "\n" || text[position] === "\r") position += 1;
  return position;
}

const bytesBefore = (text: string, position: number): number => Buffer.byteLength(text.slice(0, position));
