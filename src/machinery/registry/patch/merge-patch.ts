import { isJsonObject, jsonTypeName, memberOf, setMember } from "../../api/json/json-object.ts";
import { maximumJsonDepth, numberLiteralAt, setNumberLiteral } from "../../schema/json-reader.ts";
import { isDeeperThan } from "./json-value.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { invalidMergePatch, patchDoesNotApply, undecodablePatch } from "./patch-error.ts";

export type MergePatch = Readonly<JsonObject>;

/**
 * Checks that the parsed body of a merge patch is an object. Throws an ApiError: 400, or 422 for a list that is not read strictly, because
 * upstream replaces the object with it.
 */
export function parseMergePatch(body: unknown, { isStrict }: { readonly isStrict: boolean }): MergePatch {
  if (body === null) throw invalidMergePatch();
  if (!isJsonObject(body)) {
    const fault = `json: cannot unmarshal ${jsonTypeName(body)} into Go value of type map[string]interface {}`;
    if (isStrict) throw undecodablePatch(fault);
    throw Array.isArray(body) ? patchDoesNotApply(fault) : invalidMergePatch();
  }
  if (isDeeperThan(maximumJsonDepth, body)) throw undecodablePatch("exceeded max depth");
  return body;
}

/**
 * Applies a merge patch (RFC 7386). Does not change its inputs; the result shares unchanged parts. Like upstream, removes null members
 * also inside of lists, and sorts the members of changed objects, so that faults are found in upstream's order.
 */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return patch.map((item) => applyMergePatch(undefined, item));
  if (!isJsonObject(patch)) return patch;
  const merged: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setMember(merged, key, applyMergePatch(memberOf(merged, key), value));
  }
  const sorted: JsonObject = {};
  for (const key of Object.keys(merged).sort()) {
    setMember(sorted, key, merged[key]);
    setNumberLiteral(sorted, key, numberLiteralAt(patch, key));
  }
  return sorted;
}
