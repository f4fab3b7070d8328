/** Deeper values are refused: functions that walk through them call themselves. */
const maximumDepth = 100;

/** Why a value is refused. */
export class TooDeep extends Error {
  constructor() {
    super(`values are nested deeper than ${maximumDepth}`);
  }
}

/**
 * A copy of JSON in which whole numbers are CEL's integers. Fields without a value are left out: CEL does not know
 * `undefined`. Throws TooDeep.
 */
export function withIntegers(value: unknown, depth = 0): unknown {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth > maximumDepth) throw new TooDeep();
  if (Array.isArray(value)) return value.map((one) => withIntegers(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [[key, withIntegers(one, depth + 1)]])),
  );
}
