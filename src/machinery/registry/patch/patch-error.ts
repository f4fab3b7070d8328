import { ApiError, badRequest, invalid } from "../../api/api-error.ts";
import { invalidValue } from "../../api/validation/field-error.ts";
import { shortened } from "../../api/text/format-value.ts";
import { isJsonObject, memberOf } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { isInt64 } from "../../schema/conversion-fault.ts";

/** The longest fault in a message. Strict decoding joins up to a hundred faults into one sentence. */
const maximumFaultLength = 8192;

/** The error for a JSON or merge patch that cannot be decoded. `fault` is the parser's message. */
export const undecodablePatch = (fault: string): ApiError => badRequest(`error decoding patch: ${fault}`);

/** The error for a merge patch that cannot be applied. Upstream does not reveal the cause. */
export const invalidMergePatch = (): ApiError => badRequest("Invalid JSON Patch");

/** The error for an operation that cannot be applied to the document. Upstream does not reveal the cause. */
export const operationFailed = (): ApiError =>
  new ApiError({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {},
  });

/**
 * The error for a well-formed patch that does not fit the object. `fault` names the place. `shown` is the sent patch, for the patch
 * types for which upstream shows it. The patched object is never shown, although upstream shows it for the other types.
 */
export const patchDoesNotApply = (fault: string, shown?: Readonly<JsonObject>): ApiError =>
  invalid(
    { group: "", resource: "" },
    {
      faults: [
        shown === undefined
          ? {
              reason: "FieldValueInvalid",
              field: "patch",
              message: `Invalid value: ${shortened(fault, maximumFaultLength)}`,
            }
          : invalidValue("patch", { value: goValue(shown), detail: fault }),
      ],
    },
  );

/** The most characters of a shown value. More would not help its sender, who knows the value. */
const maximumLength = 1024;

/**
 * Formats a JSON value like Go's `%v`, as upstream shows a strategic merge patch: `map[metadata:map[labels:map[a:b]]]`.
 */
function goValue(value: unknown): string {
  const text = printed(value);
  return text.length <= maximumLength ? text : `${text.slice(0, maximumLength)}...`;
}

function printed(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(printed).join(" ")}]`;
  if (Number.isInteger(value) && !isInt64(Number(value))) return Number(value).toExponential();
  if (!isJsonObject(value)) return typeof value === "string" ? value : JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${key}:${printed(memberOf(value, key))}`);
  return `map[${members.join(" ")}]`;
}
