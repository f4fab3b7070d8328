import { ApiError } from "../../api/api-error.ts";
import { parseJson } from "../../schema/parse-json.ts";
import { UnusableAnswer } from "./post-json.ts";

/** The JSON value of an answer, within the limits of the bodies that callers send. Throws UnusableAnswer. */
export function answeredJson(text: string): unknown {
  try {
    return parseJson(text).value;
  } catch (cause) {
    const reason = cause instanceof ApiError ? "has too many values" : "is not JSON, or is nested too deeply";
    throw new UnusableAnswer(`its answer ${reason}`, { cause });
  }
}
