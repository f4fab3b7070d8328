import { ApiError, badRequest, invalid } from "../../api/api-error.ts";

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

/** A patch that is well formed and does not fit the object; `fault` names the place and never shows values. */
export const unfitPatch = (fault: string): ApiError =>
  invalid({ group: "", resource: "" }, "", [
    { reason: "FieldValueInvalid", field: "patch", message: `Invalid value: ${fault}` },
  ]);
