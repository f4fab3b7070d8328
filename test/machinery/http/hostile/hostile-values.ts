import type { Schema } from "../../../../src/machinery/schema/schema.ts";

/** Values of every JSON type, and some that objects should never hold. */
export const hostileValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  "",
  "x",
  " \u0000\ud800\u202e",
  "__proto__",
  [],
  [null],
  [[]],
  ["x", "x"],
  [{}],
  [{ name: null }, { name: {} }],
  {},
  { a: null },
  { a: {} },
  { a: [] },
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"toString":"x"}'),
];

/** The paths of a schema's fields down to `depth`; a list is entered at its first entry, a map at the key `k`. */
export function* pathsOf(schema: Schema, depth: number): Generator<readonly string[]> {
  if (depth === 0) return;
  if (schema.type === "object") {
    for (const [name, field] of Object.entries(schema.fields)) {
      yield [name];
      for (const rest of pathsOf(field.schema, depth - 1)) yield [name, ...rest];
    }
  } else if (schema.type === "array" || schema.type === "map") {
    const key = schema.type === "array" ? "0" : "k";
    yield [key];
    for (const rest of pathsOf(schema.type === "array" ? schema.items : schema.values, depth - 1)) yield [key, ...rest];
  }
}

/** The paths of all members of a value; those of lists end at the first entry. */
export function* pathsOfValue(value: unknown): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Array.isArray(value) ? [["0", value[0]] as const] : Object.entries(value)) {
    yield [name];
    for (const rest of pathsOfValue(member)) yield [name, ...rest];
  }
}

/** A deep copy of a JSON value with another value at the path. Missing parents are created. */
export function withValueAt(value: unknown, path: readonly string[], replacement: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return replacement;
  if (first === "0") {
    const list: unknown[] = Array.isArray(value) ? value : [];
    return [withValueAt(list[0], rest, replacement), ...list.slice(1)];
  }
  const object = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  return { ...object, [first]: withValueAt(object[first], rest, replacement) };
}
