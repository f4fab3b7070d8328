import type { ArraySchema, Schema } from "../../schema/schema.ts";
import { isJsonObject } from "../patch/json-value.ts";

/** How ownership sees a value: as one leaf, member by member, or entry by entry. */
export type Shape =
  { readonly type: "leaf" } | { readonly type: "members" } | { readonly type: "entries"; readonly list: ArraySchema };

const leaf: Shape = { type: "leaf" };
const members: Shape = { type: "members" };

/**
 * The shape that the schema gives. Where it has no word (an open object's other fields, any JSON), the value decides:
 * objects go member by member, everything else is one leaf (upstream: deduced types).
 */
export function shapeOf(schema: Schema | undefined, value: unknown): Shape {
  if (schema === undefined || schema.type === "any") return isJsonObject(value) ? members : leaf;
  if (schema.type === "object" || schema.type === "map") return schema.isAtomic === true ? leaf : members;
  return schema.type === "array" && schema.list !== "atomic" ? { type: "entries", list: schema } : leaf;
}

/** The schema of a member; undefined where the schema has no word on it. */
export function memberSchemaOf(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema?.type === "map") return schema.values;
  return schema?.type === "object" && Object.hasOwn(schema.fields, name) ? schema.fields[name]?.schema : undefined;
}

/** Whether the schema names the member, as it does the fields of a struct and not the keys of a map. */
export const isNamedField = (schema: Schema | undefined, name: string): boolean =>
  schema?.type === "object" && Object.hasOwn(schema.fields, name);
