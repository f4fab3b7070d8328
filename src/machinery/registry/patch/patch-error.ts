import { ApiError, badRequest, invalid } from "../../api/api-error.ts";
import { invalidValue } from "../../api/field-error.ts";
import { shortened } from "../../api/shown-value.ts";

/** Strict decoding puts a hundred faults into one sentence. */
const maximumFaultLength = 8192;

/** The answer to a JSON or merge patch that cannot be decoded; `fault` is the parser's sentence. */
export const undecodablePatch = (fault: string): ApiError => badRequest(`error decoding patch: ${fault}`);

/** An operation that does not apply to the document. Upstream keeps the cause to itself. */
export const operationFailed = (): ApiError =>
  new ApiError({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {},
  });

/**
 * A patch that is well formed and does not fit the object; `fault` names the place. `shown` is the patch as its sender
 * wrote it; the patched object, which upstream shows for the other types, is never shown.
 */
export const unfitPatch = (fault: string, shown?: string): ApiError =>
  invalid({ group: "", resource: "" }, "", [
    shown === undefined
      ? {
          reason: "FieldValueInvalid",
          field: "patch",
          message: `Invalid value: ${shortened(fault, maximumFaultLength)}`,
        }
      : invalidValue("patch", shown, fault),
  ]);
