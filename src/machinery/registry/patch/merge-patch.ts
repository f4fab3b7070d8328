import { badRequest } from "../../api/api-error.ts";
import { isJsonObject, jsonTypeName, memberOf, setMember } from "../../api/json-object.ts";
import { maximumJsonDepth, numberLiteralAt, setNumberLiteral } from "../../schema/json-reader.ts";
import { isDeeperThan } from "./json-value.ts";
import type { JsonObject } from "../../api/json-object.ts";
import { undecodablePatch } from "./patch-error.ts";

export type MergePatch = Readonly<JsonObject>;

/** Checks the parsed body of a merge patch: an object. Throws a 400 ApiError. */
export function parseMergePatch(body: unknown): MergePatch {
  if (body === null) throw badRequest("Invalid JSON Patch");
  if (!isJsonObject(body)) {
    throw undecodablePatch(
      `json: cannot unmarshal ${jsonTypeName(body)} into Go value of type map[string]interface {}`,
    );
  }
  if (isDeeperThan(maximumJsonDepth, body)) throw undecodablePatch("exceeded max depth");
  return body;
}

/**
 * Applies a merge patch (RFC 7386). Does not change its inputs; the result shares unchanged parts. Like upstream, leaves null members
 * out of lists too, and sorts the members of what it changes: faults are found in that order.
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
