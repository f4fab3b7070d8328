import { isUtf8 } from "node:buffer";
import type { MaybePromise } from "../api/maybe-promise.ts";
import { repairedParts } from "../schema/decode-utf8.ts";
import { joinInTurns } from "../scheduling/request-turn.ts";

/** Decodes the body of a request as `decodeUtf8` does. While it decodes a long body that is not UTF-8, other requests run in between. */
export const decodeUtf8InTurns = (bytes: Buffer): MaybePromise<string> =>
  isUtf8(bytes) ? bytes.toString("utf8") : joinInTurns(repairedParts(bytes));
