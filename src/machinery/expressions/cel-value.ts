/** Deeper values are refused, because the functions that walk through values are recursive. */
const maximumDepth = 100;

/** A value is nested too deeply. */
export class TooDeep extends Error {
  constructor() {
    super(`values are nested deeper than ${maximumDepth}`);
  }
}

/**
 * Copies a JSON value into CEL's types: objects become maps, and whole numbers integers. The library also reads plain objects, but each
 * access takes time that grows with their size, and fails when a plain object has a key `constructor`. Fields without a value are left out:
 * CEL does not know `undefined`. Throws TooDeep.
 */
export const celValueOf = converter((value) => (Number.isSafeInteger(value) ? BigInt(value) : value));

/** Like `celValueOf`, for a claim: all its numbers are doubles, as upstream decodes them. */
export const celClaimOf = converter((value) => value);

function converter(numberOf: (value: number) => number | bigint): (value: unknown) => unknown {
  const convert = (value: unknown, depth: number): unknown => {
    if (typeof value === "number") return numberOf(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > maximumDepth) throw new TooDeep();
    if (Array.isArray(value)) return value.map((one) => convert(one, depth + 1));
    const map = new Map<string, unknown>();
    for (const [key, one] of Object.entries(value)) if (one !== undefined) map.set(key, convert(one, depth + 1));
    return map;
  };
  return (value) => convert(value, 0);
}

/** The entries of a map. Undefined for other values. */
export function celMapOf(value: unknown): ReadonlyMap<unknown, unknown> | undefined {
  if (value instanceof Map) return value;
  return isPlainObject(value) ? new Map(Object.entries(value)) : undefined;
}

/** Whether a value is an object without a class. Objects of other classes, such as addresses and durations, are CEL types of their own. */
export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/**
 * Whether a value is a list or bytes. JavaScript turns a list or bytes into a text when they are used as a key or are sorted. That text has
 * no limit: a list may hold another list twice, forty levels deep.
 */
export const isSequence = (value: unknown): value is readonly unknown[] | Uint8Array =>
  Array.isArray(value) || value instanceof Uint8Array;
