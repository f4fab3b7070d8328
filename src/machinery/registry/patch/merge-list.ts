import { badRequest, tooLarge } from "../../api/api-error.ts";
import { isJsonObject, jsonTypeName, memberOf } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { hasDirective, listWithoutDirectives, patchDirective, withoutServerSetFields } from "./patch-strategy.ts";
import type { ListStrategy } from "./patch-strategy.ts";
import { patchDoesNotApply } from "./patch-error.ts";
import type { Schema } from "../../schema/schema.ts";

/**
 * The most entries of a patch with the key of an earlier entry. No client sends such entries, but upstream merges them. Each copies the
 * entry that was merged so far.
 */
const maximumRepeatedEntries = 10;

/** Counts the entries with the key of an earlier entry, in all lists of a patch. */
export class RepeatedEntries {
  #count = 0;

  /** Throws a 413 when there are too many. */
  add(path: string): void {
    if (++this.#count > maximumRepeatedEntries)
      throw tooLarge(`${path}: too many entries of the patch have the key of an earlier entry: send each entry once`);
  }
}

/** An object, or an entry of a list, and the part of a patch for it. */
export interface ObjectMerge {
  readonly original: Readonly<JsonObject>;
  readonly patch: Readonly<JsonObject>;
  readonly schema: Schema | undefined;
  /** The path of the merged object, for faults. */
  readonly path: string;
  readonly repeated: RepeatedEntries;
}

export interface ListMerge {
  readonly original: readonly unknown[];
  readonly patch: readonly unknown[];
  readonly strategy: ListStrategy;
  readonly mergeEntry: (merge: ObjectMerge) => JsonObject;
  /** The path of the list, for faults. */
  readonly path: string;
  readonly repeated: RepeatedEntries;
}

/**
 * Merges a list by its merge key, or by value if it has none. The patch's entries are in the patch's order, the other
 * entries in the original's order. If the original does not order two entries, the patch's entry comes first.
 */
export function mergeList(merge: ListMerge): unknown[] {
  const { original, patch } = merge;
  if (original.length === 0 && patch.length === 0) return [];
  requireOneKind(merge);
  if (!isJsonObject(original[0] ?? patch[0])) {
    return interleave({ merged: [...new Set([...original, ...patch])], order: patch, original, keyOf: identity });
  }
  const { mergeKey } = merge.strategy;
  if (mergeKey === undefined)
    throw patchDoesNotApply(`${merge.path}: entries that are objects cannot be merged without a merge key`);
  const keyOf = keyReader(mergeKey, merge.path);
  const { kept, entries } = withoutSpecialEntries(merge, { mergeKey, keyOf });
  const merged = mergeEntries(merge, { kept, entries, mergeKey, keyOf });
  return interleave({ merged, order: entries, original: kept, keyOf });
}

interface ListOrdering extends Omit<ListMerge, "original" | "patch"> {
  readonly original: readonly unknown[] | undefined;
  readonly patch: readonly unknown[] | undefined;
  readonly order: readonly unknown[];
}

/** Merges a list whose patch contains a `$setElementOrder` directive. At least one of the lists exists. */
export function orderList({ original, patch, order, ...list }: ListOrdering): unknown[] {
  const { strategy, path } = list;
  const { mergeKey } = strategy;
  const keyOf = mergeKey === undefined ? identity : keyReader(mergeKey, path);
  requireSameOrder({ patch: patch ?? [], order, keyOf, path });
  let merged: readonly unknown[];
  if (original === undefined) merged = listWithoutDirectives(patch ?? []);
  else if (patch === undefined) merged = original;
  else merged = strategy.isMerged ? mergeList({ ...list, original, patch }) : patch;
  return interleave({ merged, order, original: original ?? [], keyOf });
}

/** All entries of the patch, except deletions, must appear in the order list, and in that order. */
function requireSameOrder({
  patch,
  order,
  keyOf,
  path,
}: Pick<Interleaving, "order" | "keyOf"> & { readonly patch: readonly unknown[]; readonly path: string }): void {
  if (order.length === 0) return;
  let position = 0;
  for (const entry of patch) {
    if (hasDirective(entry)) continue;
    const key = keyOf(entry);
    while (position < order.length && keyOf(order[position]) !== key) position++;
    if (position === order.length)
      throw patchDoesNotApply(`${path}: the order in the list does not match its $setElementOrder list`);
    position++;
  }
}

const identity = (item: unknown): unknown => item;

/** Makes a function that reads the merge key of an entry. `path` is the list's, for faults. */
const keyReader =
  (mergeKey: string, path: string) =>
  (item: unknown): unknown => {
    const key = isJsonObject(item) ? memberOf(item, mergeKey) : undefined;
    if (key === undefined)
      throw patchDoesNotApply(`${path}: an entry does not contain the declared merge key: ${mergeKey}`);
    if (typeof key === "object" && key !== null)
      throw patchDoesNotApply(`${path}: the merge key ${mergeKey} must be a scalar`);
    return key;
  };

interface EntryKeys {
  readonly mergeKey: string;
  readonly keyOf: (item: unknown) => unknown;
}

/** Throws unless all entries of both lists have one type: a 400 for lists in lists, a 422 otherwise. */
export function requireOneKind({ original, patch, path }: ListMerge): void {
  const kinds = new Set([...original, ...patch].map(jsonTypeName));
  if (kinds.has("array")) throw badRequest("lists of lists are not supported");
  if (kinds.size > 1 || kinds.has("null")) throw patchDoesNotApply(`${path}: list element types are not identical`);
}

/**
 * Executes the entries with a `$patch` directive. Returns the remaining original and the plain entries of the patch.
 */
function withoutSpecialEntries(
  { original, patch, path }: ListMerge,
  { mergeKey, keyOf }: EntryKeys,
): { readonly kept: readonly JsonObject[]; readonly entries: readonly JsonObject[] } {
  const entries: JsonObject[] = [];
  const deleted = new Set<unknown>();
  let isReplaced = false;
  for (const entry of patch as readonly JsonObject[]) {
    // mergeList has checked that all entries are objects
    if (!hasDirective(entry)) entries.push(entry);
    else if (entry[patchDirective] === "delete") deleted.add(keyOf(entry));
    else if (entry[patchDirective] === "replace") isReplaced = true;
    else if (entry[patchDirective] === "merge")
      throw patchDoesNotApply(`${path}: merging lists cannot yet be specified in the patch`);
    else throw patchDoesNotApply(`${path}: unknown patch type ${JSON.stringify(entry[patchDirective])}`);
  }
  if (isReplaced) return { kept: entries, entries: [] };
  const objects = original as readonly JsonObject[]; // requireOneKind has checked that all entries are objects
  return {
    kept: deleted.size === 0 ? objects : objects.filter((item) => !deleted.has(memberOf(item, mergeKey))),
    entries,
  };
}

/** Merges each entry into the first kept entry with the same key. Entries with a new key are added. */
function mergeEntries(
  { strategy, mergeEntry, path, repeated }: ListMerge,
  {
    kept,
    entries,
    mergeKey,
    keyOf,
  }: EntryKeys & { readonly kept: readonly JsonObject[]; readonly entries: readonly JsonObject[] },
): JsonObject[] {
  const merged = [...kept];
  const positions = new Map<unknown, number>();
  merged.forEach((item, position) => {
    const key = memberOf(item, mergeKey);
    if (!positions.has(key)) positions.set(key, position);
  });
  const keys = new Set<unknown>();
  for (const entry of entries) {
    const key = keyOf(entry);
    if (keys.has(key)) repeated.add(path);
    keys.add(key);
    const position = positions.get(key);
    if (position === undefined) {
      positions.set(key, merged.length);
      merged.push(entry);
    } else {
      const schema = strategy.items;
      const original = withoutServerSetFields(merged[position] ?? {}, { patch: entry, schema });
      const inner = `${path}[${mergeKey}=${JSON.stringify(key)}].`;
      merged[position] = mergeEntry({ original, patch: entry, schema, path: inner, repeated });
    }
  }
  return merged;
}

interface Interleaving {
  readonly merged: readonly unknown[];
  /** The entries whose order is given. */
  readonly order: readonly unknown[];
  readonly original: readonly unknown[];
  readonly keyOf: (item: unknown) => unknown;
}

/**
 * Orders a merged list: the entries of `order` in that order, the other entries as in the original, new entries last. Another entry comes
 * before the first ordered entry that it preceded in the original (upstream: mergeSortedSlice).
 */
function interleave({ merged, order, original, keyOf }: Interleaving): unknown[] {
  const ordered = positionsOf(order, keyOf);
  const before = positionsOf(original, keyOf);
  const isBefore = (left: unknown, right: unknown): boolean => {
    const [leftPosition, rightPosition] = [before.get(keyOf(left)), before.get(keyOf(right))];
    return leftPosition !== undefined && rightPosition !== undefined && leftPosition < rightPosition;
  };
  const byPosition = (positions: ReadonlyMap<unknown, number>) => (left: unknown, right: unknown) =>
    (positions.get(keyOf(left)) ?? Number.MAX_SAFE_INTEGER) - (positions.get(keyOf(right)) ?? Number.MAX_SAFE_INTEGER);
  const first = merged.filter((item) => ordered.has(keyOf(item))).sort(byPosition(ordered));
  const rest = merged.filter((item) => !ordered.has(keyOf(item))).sort(byPosition(before));
  const result: unknown[] = [];
  let next = 0;
  for (const item of first) {
    for (; next < rest.length && isBefore(rest[next], item); next++) result.push(rest[next]);
    result.push(item);
  }
  return [...result, ...rest.slice(next)];
}

function positionsOf(list: readonly unknown[], keyOf: (item: unknown) => unknown): Map<unknown, number> {
  const positions = new Map<unknown, number>();
  list.forEach((item, position) => {
    const key = keyOf(item);
    if (!positions.has(key)) positions.set(key, position);
  });
  return positions;
}
