/** A JSON object as a parser made it. Its keys are a client's: read them with Object.hasOwn, write them with setMember. */
export type JsonObject = Record<string, unknown>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const memberOf = (object: Readonly<JsonObject>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** Sets a member of an object that the caller made, whatever the key: `__proto__` becomes a plain member too. */
export function setMember(object: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/** What Go's decoder calls the value in its errors. */
export function jsonTypeName(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Whether two JSON values are equal; the order of members does not count. Values must not be deeper than the stack. */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => isSameJson(item, right[index]))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  let count = 0;
  for (const key in left) {
    if (!Object.hasOwn(right, key) || !isSameJson(left[key], right[key])) return false;
    count++;
  }
  return count === Object.keys(right).length;
}

/** Deeper values are refused: whoever walks them next would run out of stack. */
export const maximumDepth = 1000;

/** Whether the value nests deeper than `levels`; itself safe on any depth. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item));
  for (const key in value) {
    if (isDeeperThan(levels - 1, (value as JsonObject)[key])) return true; // an object that is no array is a JsonObject
  }
  return false;
}
