import { isUtf8 } from "node:buffer";
import type { MaybePromise } from "../api/maybe-promise.ts";
import { mendedParts } from "../schema/decode-utf8.ts";
import { joinInTurns } from "../scheduling/request-turn.ts";

/** Does the same as `decodeUtf8` for the body of a request. One that is long and not UTF-8 lets others come in between. */
export const decodeUtf8InTurns = (bytes: Buffer): MaybePromise<string> =>
  isUtf8(bytes) ? bytes.toString("utf8") : joinInTurns(mendedParts(bytes));
