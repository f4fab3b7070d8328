import { tooLarge } from "../../api/api-error.ts";
import { maximumFaults } from "../../api/validation/field-error.ts";
import { shortened } from "../../api/text/format-value.ts";
import { PatchedDocument, parseJsonPointer } from "./patched-document.ts";
import type { PatchedValue } from "./patched-document.ts";
import { isJsonObject, jsonTypeName, memberOf } from "../../api/json/json-object.ts";
import { maximumJsonDepth, numberLiteralAt, positionOfMember } from "../../schema/json-reader.ts";
import type { MemberPlace } from "../../schema/json-reader.ts";
import { parseExactly } from "../../schema/parse-json.ts";
import { maximumValues, tooManyValues } from "../../schema/value-limit.ts";
import { pauseInTurn } from "../../scheduling/request-turn.ts";
import { isDeeperThan, isSameJson, valueCount } from "./json-value.ts";
import { operationFailed, undecodablePatch } from "./patch-error.ts";

/** One operation of RFC 6902. It is validated when it is applied. */
export interface JsonPatchOperation extends PatchedValue {
  readonly op: string;
  readonly path: string | undefined;
  readonly from: string | undefined;
  /** null when the member is absent (as in upstream). */
  readonly value: unknown;
}

/** Upstream: maxJSONPatchOperations (CVE-2019-1002100). */
const maximumOperations = 10_000;
/**
 * How many bytes all copies of one patch may add: the maximum size of an object (upstream: JSONPatchMaxCopyBytes, 3
 * MiB).
 */
const maximumCopiedBytes = 1.5 * 1024 * 1024;

const goType = "handlers.jsonPatchOp";

function stringMember(operation: unknown, key: "op" | "path" | "from"): string | undefined {
  const value = isJsonObject(operation) ? (memberOf(operation, key) ?? undefined) : undefined;
  if (value !== undefined && typeof value !== "string") {
    throw undecodablePatch(
      `json: cannot unmarshal ${jsonTypeName(value)} into Go struct field jsonPatchOp.${key} of type string`,
    );
  }
  return value;
}

function parseOperation(operation: unknown): JsonPatchOperation {
  if (operation !== null && !isJsonObject(operation)) {
    throw undecodablePatch(`json: cannot unmarshal ${jsonTypeName(operation)} into Go value of type ${goType}`);
  }
  return {
    op: stringMember(operation, "op") ?? "",
    path: stringMember(operation, "path"),
    from: stringMember(operation, "from"),
    value: operation === null ? null : (memberOf(operation, "value") ?? null),
    literal: operation === null ? undefined : numberLiteralAt(operation, "value"),
  };
}

/**
 * Checks the parsed body of a JSON patch; `null` means no operations (as in upstream). Throws an ApiError: 400 when it is
 * not an array of operations or nested too deep, 413 for more than 10,000 operations.
 */
export function parseJsonPatch(body: unknown): readonly JsonPatchOperation[] {
  if (body === null) return [];
  if (!Array.isArray(body)) {
    throw undecodablePatch(`json: cannot unmarshal ${jsonTypeName(body)} into Go value of type []${goType}`);
  }
  if (body.length > maximumOperations) {
    throw tooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${maximumOperations}, got ${body.length}`,
    );
  }
  if (isDeeperThan(maximumJsonDepth, body)) throw undecodablePatch("exceeded max depth");
  return body.map(parseOperation);
}

const knownMembers = new Set(["op", "path", "from", "value"]);

/** Finds the unknown members of operations, which strict field validation refuses. */
export function unknownOperationFields(body: unknown): MemberPlace[] {
  if (!Array.isArray(body)) return [];
  const places: MemberPlace[] = [];
  for (const [index, operation] of body.entries()) {
    if (!isJsonObject(operation)) continue;
    for (const key in operation) {
      if (knownMembers.has(key)) continue;
      places.push({ path: `[${index}].${shortened(key)}`, position: positionOfMember(operation, key) });
      if (places.length === maximumFaults) return places;
    }
  }
  return places;
}

const tokensOf = (pointer: string | undefined): string[] => {
  const tokens = pointer === undefined ? undefined : parseJsonPointer(pointer);
  if (tokens === undefined) throw operationFailed();
  return tokens;
};

/**
 * Applies a JSON patch (RFC 6902). Does not change its inputs; the result shares unchanged parts. Like upstream's
 * library: `replace` of a missing member adds it, `copy` of a missing member copies null, `test` treats a missing
 * member as null, and `add`, `move` and `copy` cannot replace the whole document. Throws a 422 ApiError when an
 * operation fails or when all copies together add more than 1.5 MiB; a 413 when they add, or the result has, more values
 * than an object may have. Pauses between many operations, so that other requests run.
 */
export async function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): Promise<unknown> {
  const patched = new PatchedDocument(document);
  let copiedBytes = 0;
  let copiedValues = 0;
  for (const operation of operations) {
    const { op, path, from, value } = operation;
    const pause = pauseInTurn();
    if (pause !== undefined) await pause;
    switch (op) {
      case "add":
        patched.add(tokensOf(path), operation);
        break;
      case "remove":
        patched.remove(tokensOf(path));
        break;
      case "replace":
        patched.replace(tokensOf(path), operation);
        break;
      case "test":
        if (!isSameJson(patched.get(tokensOf(path)).value ?? null, value)) throw operationFailed();
        break;
      case "move": {
        const source = tokensOf(from);
        const moved = patched.get(source);
        patched.remove(source);
        patched.add(tokensOf(path), moved);
        break;
      }
      case "copy": {
        const source = tokensOf(from);
        if (source.length === 0) throw operationFailed();
        const { value: copied = null, literal } = patched.get(source);
        if (isDeeperThan(maximumJsonDepth, copied)) throw operationFailed();
        const json = JSON.stringify(copied);
        copiedBytes += Buffer.byteLength(json);
        if (copiedBytes > maximumCopiedBytes) throw operationFailed();
        copiedValues += valueCount(copied);
        if (copiedValues > maximumValues) throw tooManyValues();
        patched.add(tokensOf(path), { value: parseExactly(json), literal });
        break;
      }
      default:
        throw operationFailed();
    }
  }
  if (isDeeperThan(maximumJsonDepth, patched.root)) throw operationFailed();
  if (valueCount(patched.root) > maximumValues) throw tooManyValues();
  return patched.sorted();
}
