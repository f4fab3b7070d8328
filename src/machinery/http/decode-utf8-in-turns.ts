import { isUtf8 } from "node:buffer";
import type { MaybePromise } from "../api/maybe-promise.ts";
import { mendedParts } from "../schema/decode-utf8.ts";
import { pauseInTurn } from "../scheduling/request-turn.ts";

/** Does the same as `decodeUtf8` for the body of a request. One that is long and not UTF-8 lets others come in between. */
export const decodeUtf8InTurns = (bytes: Buffer): MaybePromise<string> =>
  isUtf8(bytes) ? bytes.toString("utf8") : mendInTurns(bytes);

async function mendInTurns(bytes: Buffer): Promise<string> {
  let text = "";
  for (const part of mendedParts(bytes)) {
    text += part;
    const pause = pauseInTurn();
    if (pause !== undefined) await pause;
  }
  return text;
}
