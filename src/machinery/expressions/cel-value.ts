/** Deeper values are refused: functions that walk through them call themselves. */
const maximumDepth = 100;

/** Why a value is refused. */
export class TooDeep extends Error {
  constructor() {
    super(`values are nested deeper than ${maximumDepth}`);
  }
}

/**
 * A copy of JSON as CEL reads it: objects are maps, and whole numbers are integers. The library also reads plain objects, but
 * takes time that grows with their size for each look at one, and fails where one has a key `constructor`. Fields without a
 * value are left out: CEL does not know `undefined`. Throws TooDeep.
 */
export const celValueOf = converter((value) => (Number.isSafeInteger(value) ? BigInt(value) : value));

/** The same of a claim, in which all numbers are doubles (upstream decodes them so). */
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

/** The entries of a map. */
export function celMapOf(value: unknown): ReadonlyMap<unknown, unknown> | undefined {
  if (value instanceof Map) return value;
  return isPlainObject(value) ? new Map(Object.entries(value)) : undefined;
}

/** Objects of other classes are types of their own: addresses, durations. */
export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/**
 * Lists and bytes. JavaScript makes a text of all that is in them where they are a key, or where they are put in order. That text
 * has no bound: a list may hold another one twice, forty levels deep.
 */
export const isSequence = (value: unknown): value is readonly unknown[] | Uint8Array =>
  Array.isArray(value) || value instanceof Uint8Array;
