import type { Reference } from "../api/reference.ts";
import type { Field, Schema } from "./schema.ts";

/**
 * Returns every object that a decoded value refers to, in schema order: one for each present field that is marked with
 * `refersTo`. Takes time linear in the value.
 */
export function referencesOf(schema: Schema, value: unknown): Reference[] {
  const found: Reference[] = [];
  visit(schema, value, { path: "", found });
  return found;
}

interface Visit {
  readonly path: string;
  readonly found: Reference[];
}

function visit(schema: Schema, value: unknown, { path, found }: Visit): void {
  if (typeof value !== "object" || value === null || !holdsReferences(schema)) return;
  if (schema.type === "array" && Array.isArray(value)) {
    for (const [index, item] of value.entries()) visit(schema.items, item, { path: `${path}[${index}]`, found });
  }
  if (schema.type === "map") {
    for (const [key, item] of Object.entries(value)) visit(schema.values, item, { path: `${path}[${key}]`, found });
  }
  if (schema.type !== "object") return;
  for (const [name, field] of Object.entries(schema.fields)) {
    const member = memberOf(value, name);
    if (member === undefined || member === null) continue;
    const memberPath = path === "" ? name : `${path}.${name}`;
    addReferences(field, member, { path: memberPath, found });
    visit(field.schema, member, { path: memberPath, found });
  }
}

function addReferences({ refersTo }: Field, member: unknown, { path, found }: Visit): void {
  if (refersTo === undefined) return;
  const { kind, nameIn } = refersTo;
  if (Array.isArray(member)) {
    for (const [index, item] of member.entries()) {
      found.push({ kind, name: nameOf(item, nameIn), path: `${path}[${index}]` });
    }
  } else if (member !== "") found.push({ kind, name: nameOf(member, nameIn), path });
}

function nameOf(value: unknown, nameIn: string | undefined): string {
  const name = typeof value === "object" && value !== null && nameIn !== undefined ? memberOf(value, nameIn) : value;
  return typeof name === "string" ? name : "";
}

const memberOf = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined; // any object is a record

const known = new WeakMap<Schema, boolean>();

/** Most schemas contain no references. Parts without any are not walked. */
function holdsReferences(schema: Schema): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const holds =
    (schema.type === "array" && holdsReferences(schema.items)) ||
    (schema.type === "map" && holdsReferences(schema.values)) ||
    (schema.type === "object" &&
      Object.values(schema.fields).some((field) => field.refersTo !== undefined || holdsReferences(field.schema)));
  known.set(schema, holds);
  return holds;
}
