import type { JsonObject } from "../../api/json-object.ts";
import type { ArraySchema, Schema } from "../../schema/schema.ts";

/**
 * Removes the server-set fields of a list entry that a patch of the entry leaves out, so that the server sets them
 * again.
 */
export function withoutServerSetFields(
  entry: Readonly<JsonObject>,
  { patch, schema }: { readonly patch: Readonly<JsonObject>; readonly schema: Schema | undefined },
): Readonly<JsonObject> {
  if (schema?.type !== "object") return entry;
  const { fields } = schema;
  const isUnset = (key: string): boolean =>
    Object.hasOwn(fields, key) && fields[key]?.isServerSet === true && !Object.hasOwn(patch, key);
  const kept = Object.entries(entry).filter(([key]) => !isUnset(key));
  return kept.length === Object.keys(entry).length ? entry : Object.fromEntries(kept);
}

/** How a strategic merge patch treats a list: merge it by key (undefined key: by value), or replace it. */
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
