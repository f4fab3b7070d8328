import { isJsonObject, setMember } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import type { ArraySchema, Schema } from "../../schema/schema.ts";

/** The name of the member that says how to treat its object. */
export const patchDirective = "$patch";

export const hasDirective = (value: unknown): boolean => isJsonObject(value) && Object.hasOwn(value, patchDirective);

/**
 * Prepares for storage a part of a patch that has nothing to merge with: removes nulls from objects, and parts with a
 * `$patch` directive. Undefined when nothing is left.
 */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return listWithoutDirectives(value);
  if (!isJsonObject(value)) return value;
  if (hasDirective(value)) return undefined;
  const kept: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const inner = member === null ? undefined : withoutDirectives(member);
    if (inner !== undefined) setMember(kept, key, inner);
  }
  return kept;
}

export const listWithoutDirectives = (list: readonly unknown[]): unknown[] =>
  list.filter((item) => !hasDirective(item)).map(withoutDirectives);

/**
 * Removes from a list entry the server-set fields that a patch of the entry leaves out, so that the server sets them
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
