/**
 * A JSON object from a parser. A client chose its keys: read them with `memberOf`, and write them with `setMember`.
 */
export type JsonObject = Record<string, unknown>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own member; undefined when there is none. */
export const memberOf = (object: Readonly<JsonObject>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/**
 * Sets a member of an object that the caller created. The key may be anything: even `__proto__` becomes a plain member.
 */
// oxlint-disable-next-line max-params -- called for every member: an object each would cost
export function setMember(object: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/** The fields of a JSON object; none for a list or any other value. */
export const jsonFields = (value: unknown): Readonly<JsonObject> => (isJsonObject(value) ? value : {});

/** Parses a text from an untrusted source as a JSON object. Undefined for any other text. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Go's name for the type of a JSON value, as in its errors. */
export function jsonTypeName(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  return Array.isArray(value) ? "array" : typeof value;
}
