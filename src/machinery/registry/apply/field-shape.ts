import type { ArraySchema, Schema } from "../../schema/schema.ts";
import { isJsonObject } from "../../api/json/json-object.ts";
import { entryElement } from "./path-element.ts";
import type { PathElement } from "./path-element.ts";

/** How ownership treats a value: as one leaf, member by member, or entry by entry. */
type Shape =
  | { readonly type: "leaf" }
  | { readonly type: "members" }
  | { readonly type: "entries"; readonly list: ArraySchema };

const leaf: Shape = { type: "leaf" };
const members: Shape = { type: "members" };

/**
 * The shape according to the schema. Where the schema does not describe the value (other fields of an open object, any
 * JSON), the value decides: objects are owned member by member, everything else is one leaf (upstream: deduced types).
 */
export function shapeOf(schema: Schema | undefined, value: unknown): Shape {
  if (schema === undefined || schema.type === "any") return isJsonObject(value) ? members : leaf;
  if (schema.type === "object" || schema.type === "map") return schema.isAtomic === true ? leaf : members;
  return schema.type === "array" && schema.list !== "atomic" ? { type: "entries", list: schema } : leaf;
}

/** Whether the schema names the member. True for the fields of a struct, false for the keys of a map. */
export const isNamedField = (schema: Schema | undefined, name: string): boolean =>
  schema?.type === "object" && Object.hasOwn(schema.fields, name);

/**
 * The entries of a list by path element, in order. Several entries for one element are duplicates. Throws
 * UntrackableEntry.
 */
export function entriesByElement(list: ArraySchema, entries: readonly unknown[]): Map<PathElement, unknown[]> {
  const byElement = new Map<PathElement, unknown[]>();
  for (const entry of entries) {
    const element = entryElement(list, entry);
    const known = byElement.get(element);
    if (known === undefined) byElement.set(element, [entry]);
    else known.push(entry);
  }
  return byElement;
}

/** Returns a list as it is, and an empty list for null and other values. */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
