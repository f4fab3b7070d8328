import { badRequest } from "../../api/api-error.ts";
import { memberSchemaOf } from "../../schema/schema.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import { isJsonObject, jsonTypeName, memberOf, setMember } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { maximumJsonDepth } from "../../schema/json-reader.ts";
import { isDeeperThan } from "./json-value.ts";
import { mergeList, orderList, RepeatedEntries, requireOneKind } from "./merge-list.ts";
import type { ListMerge, ObjectMerge } from "./merge-list.ts";
import { hasDirective, patchDirective, withoutDirectives, listStrategy } from "./patch-strategy.ts";
import { patchDoesNotApply } from "./patch-error.ts";

export type StrategicMergePatch = Readonly<JsonObject>;

/**
 * Checks the parsed body of a strategic merge patch: an object; `null` means an empty one (as in upstream). Throws a 400
 * ApiError.
 */
export function parseStrategicMergePatch(body: unknown): StrategicMergePatch {
  if (body === null) return {};
  if (!isJsonObject(body)) {
    throw badRequest(`json: cannot unmarshal ${jsonTypeName(body)} into Go value of type map[string]interface {}`);
  }
  if (isDeeperThan(maximumJsonDepth, body)) throw badRequest("exceeded max depth");
  return body;
}

export interface StrategicMergeOptions {
  readonly document: Readonly<JsonObject>;
  readonly patch: StrategicMergePatch;
  readonly schema: ObjectSchema;
}

/**
 * Applies a strategic merge patch, upstream's extension of RFC 7386. Lists with a merge key are merged by it, other
 * lists are replaced. The directives are `$patch`, `$retainKeys`, `$setElementOrder/<list>` and
 * `$deleteFromPrimitiveList/<list>`. Does not change its inputs. Throws ApiErrors: 400 for an invalid directive, 422
 * for a patch that does not fit, 413 for a patch with too many entries that have the key of an earlier entry.
 */
export function applyStrategicMergePatch({ document, patch, schema }: StrategicMergeOptions): JsonObject {
  return mergeObject({ original: document, patch, schema, path: "", repeated: new RepeatedEntries() });
}

const retainKeysDirective = "$retainKeys";
const deletePrefix = "$deleteFromPrimitiveList";
const orderPrefix = "$setElementOrder";

function mergeObject(merge: ObjectMerge): JsonObject {
  const { original, patch, path } = merge;
  if (hasDirective(patch)) return replaceObject(patch, path);
  const merged = retained(original, patch);
  const ordered = mergeOrderedLists(merge, merged);
  for (const key in patch) {
    const value = patch[key];
    if (key.startsWith(deletePrefix)) {
      deleteFromList(merge, { merged, key: listName(key, deletePrefix), value });
    } else if (
      key !== retainKeysDirective &&
      !key.startsWith(orderPrefix) &&
      !(ordered.has(key) && Array.isArray(value))
    ) {
      mergeMember(merge, { merged, key, value });
    }
  }
  return merged;
}

function replaceObject(patch: Readonly<JsonObject>, path: string): JsonObject {
  const { [patchDirective]: directive, ...rest } = patch;
  if (directive === "replace") return rest;
  if (directive === "delete") return {};
  throw patchDoesNotApply(`unknown patch type ${JSON.stringify(directive)} in ${path === "" ? "the patch" : path}`);
}

/** Copies the original without the members that a `$retainKeys` directive does not list. */
function retained(original: Readonly<JsonObject>, patch: Readonly<JsonObject>): JsonObject {
  if (!Object.hasOwn(patch, retainKeysDirective)) return { ...original };
  const list = patch[retainKeysDirective];
  const faulty = badRequest("invalid patch format of retainKeys");
  if (!Array.isArray(list)) throw faulty;
  const keys = new Set<unknown>(list);
  for (const [key, value] of Object.entries(patch)) {
    const isDirective = key === retainKeysDirective || key.startsWith(deletePrefix) || key.startsWith(orderPrefix);
    if (value !== null && !isDirective && !keys.has(key)) throw faulty;
  }
  const kept: JsonObject = {};
  for (const [key, value] of Object.entries(original)) if (keys.has(key)) setMember(kept, key, value);
  return kept;
}

const formatFaults = {
  [deletePrefix]: "invalid patch format of primitive list",
  [orderPrefix]: "invalid patch format of setElementOrder list",
};

function listName(key: string, prefix: keyof typeof formatFaults): string {
  if (key.charAt(prefix.length) !== "/") throw badRequest(formatFaults[prefix]);
  return key.slice(prefix.length + 1);
}

/** Merges the lists that have a `$setElementOrder` directive, in its order. Returns the names of these lists. */
function mergeOrderedLists({ patch, schema, path, repeated }: ObjectMerge, merged: JsonObject): ReadonlySet<string> {
  const ordered = new Set<string>();
  for (const directive in patch) {
    if (!directive.startsWith(orderPrefix)) continue;
    const order = patch[directive];
    const key = listName(directive, orderPrefix);
    ordered.add(key);
    if (!Array.isArray(order)) throw badRequest(formatFaults[orderPrefix]);
    const list = memberSchemaOf(schema, key);
    if (list?.type !== "array") throw patchDoesNotApply(`${path}${key} is no list: ${orderPrefix} orders lists`);
    const original = memberOf(merged, key);
    const patched = memberOf(patch, key);
    if ((original !== undefined && !Array.isArray(original)) || (patched !== undefined && !Array.isArray(patched))) {
      if (patched === null) continue;
      throw badRequest(formatFaults[orderPrefix]);
    }
    if (original === undefined && patched === undefined) continue;
    const ordering = { order, strategy: listStrategy(list), mergeEntry: mergeObject, path: `${path}${key}`, repeated };
    setMember(merged, key, orderList({ ...ordering, original, patch: patched }));
  }
  return ordered;
}

/**
 * Removes values from a list; null removes the list itself. As in upstream, entries that are objects, and a member that is not a list, are
 * merged as without the directive, and a value of another type is ignored.
 */
function deleteFromList(merge: ObjectMerge, { merged, key, value }: PatchedMember): void {
  if (value === null) {
    delete merged[key];
    return;
  }
  const original = memberOf(merged, key);
  if (!Array.isArray(original) || !Array.isArray(value)) {
    if (jsonTypeName(original) === jsonTypeName(value)) mergeMember(merge, { merged, key, value });
    return;
  }
  const list = listMergeOf(merge, { original, key, value: value as unknown[] });
  if ([...original, ...(value as unknown[])].some((item) => typeof item === "object")) {
    setMember(merged, key, mergeList(list));
    return;
  }
  requireOneKind(list);
  const deleted = new Set<unknown>(value);
  setMember(
    merged,
    key,
    original.filter((item) => !deleted.has(item)),
  );
}

interface PatchedMember {
  readonly merged: JsonObject;
  readonly key: string;
  readonly value: unknown;
}

interface PatchedList {
  readonly original: readonly unknown[];
  readonly key: string;
  readonly value: readonly unknown[];
}

/** How a list among the members of a merged object is merged. */
const listMergeOf = ({ schema, path, repeated }: ObjectMerge, { original, key, value }: PatchedList): ListMerge => ({
  original,
  patch: value,
  strategy: listStrategy(memberSchemaOf(schema, key)),
  mergeEntry: mergeObject,
  path: `${path}${key}`,
  repeated,
});

function mergeMember(merge: ObjectMerge, { merged, key, value }: PatchedMember): void {
  const { schema, path, repeated } = merge;
  const original = memberOf(merged, key);
  if (value === null) {
    delete merged[key];
  } else if (isJsonObject(value) && isJsonObject(original)) {
    const inner = { original, patch: value, schema: memberSchemaOf(schema, key), path: `${path}${key}.` };
    setMember(merged, key, mergeObject({ ...inner, repeated }));
  } else if (Array.isArray(value) && Array.isArray(original)) {
    const list = listMergeOf(merge, { original, key, value: value as unknown[] });
    setMember(merged, key, list.strategy.isMerged ? mergeList(list) : value);
  } else {
    const added = withoutDirectives(value);
    if (added === undefined) delete merged[key];
    else setMember(merged, key, added);
  }
}
