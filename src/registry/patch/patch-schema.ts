import type { ArraySchema, ObjectSchema, Schema } from "../../schema/schema.ts";

/** The schema of a member; undefined where the schema has no word on it. */
export function memberSchema(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.type === "object") return fieldSchema(schema, key);
  return schema?.type === "map" ? schema.values : undefined;
}

const fieldSchema = (schema: ObjectSchema, key: string): Schema | undefined =>
  Object.hasOwn(schema.fields, key) ? schema.fields[key]?.schema : undefined;

/** How a strategic merge patch treats a list: merge it by key (undefined key: by value) or replace it whole. */
export interface ListStrategy {
  readonly isMerged: boolean;
  readonly mergeKey: string | undefined;
  readonly items: Schema | undefined;
}

export function listStrategy(schema: Schema | undefined): ListStrategy {
  if (schema?.type !== "array") return { isMerged: false, mergeKey: undefined, items: undefined };
  const { patchMerge, items }: ArraySchema = schema;
  return { isMerged: patchMerge !== undefined, mergeKey: patchMerge?.mergeKey, items };
}
