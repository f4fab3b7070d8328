import { errorCode } from "../../api/thrown-error.ts";
import type { Schedule } from "../../api/clock.ts";
import { connectionEnded } from "./connections.ts";
import { countedBytes } from "../bounded-text.ts";
import { AnswerTooLarge } from "../transport.ts";
import type { ClientResponse } from "../transport.ts";

export interface AnswerBounds {
  /** Infinity: no limit, except for answers with an error code. */
  readonly largestBytes: number;
  /** The limit for an answer with an error code, which is kept in memory completely. */
  readonly largestRefusalBytes: number;
  /** From the request to the last byte of its answer. Infinity: no limit. */
  readonly longestMilliseconds: number;
  readonly schedule: Schedule;
  /** The signal of the caller, which ends the request. */
  readonly signal: AbortSignal | undefined;
  /** Creates the error of a request whose time is over. */
  readonly late: () => Error;
}

/**
 * Gets an answer within limits of time and size. `send` gets the signal that ends the request. A body that breaks off fails with the same
 * message for all protocols.
 */
export async function boundedAnswer(
  send: (signal: AbortSignal | undefined) => Promise<ClientResponse>,
  { largestBytes, largestRefusalBytes, longestMilliseconds, schedule, signal, late }: AnswerBounds,
): Promise<ClientResponse> {
  const deadline = new AbortController();
  const isTimed = longestMilliseconds !== Infinity;
  const cancel = isTimed ? schedule(() => deadline.abort(), longestMilliseconds) : () => {};
  async function* body(answer: ClientResponse): ClientResponse["body"] {
    const mostBytes = answer.status < 300 ? largestBytes : largestRefusalBytes;
    let bytes = 0;
    try {
      for await (const chunk of answer.body) {
        bytes += countedBytes(chunk);
        if (bytes > mostBytes) throw new AnswerTooLarge(mostBytes);
        yield chunk;
      }
    } catch (error) {
      if (deadline.signal.aborted) throw late();
      const isCut = errorCode(error) === "ECONNRESET" && signal?.aborted !== true;
      throw isCut ? connectionEnded({ cause: error }) : error;
    } finally {
      cancel();
    }
  }
  try {
    const signals = [signal, isTimed ? deadline.signal : undefined].filter((one) => one !== undefined);
    const answer = await send(signals.length > 1 ? AbortSignal.any(signals) : signals[0]);
    return { ...answer, body: body(answer) };
  } catch (error) {
    cancel();
    throw deadline.signal.aborted ? late() : error;
  }
}
