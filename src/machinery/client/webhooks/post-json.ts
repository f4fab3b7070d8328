import { messageOf } from "../../api/thrown-error.ts";
import { isLate } from "../https/connections.ts";
import { boundedText } from "../bounded-text.ts";
import type { Transport } from "../transport.ts";

/** Another try may succeed: the connection failed, or the server answered 429 or 5xx. */
export class TransientFailure extends Error {}

/** The server answered that it failed on this question. It may answer others well. */
export class FailedAnswer extends TransientFailure {}

/** The server answered, but not with what was asked for. It says nothing about the server's other answers. */
export class UnusableAnswer extends Error {}

interface PostedAnswer {
  readonly status: number;
  /** Undefined: it is longer than 1 MiB, or comes in too many parts. */
  readonly text: string | undefined;
}

const largestAnswerBytes = 1024 * 1024;

/**
 * Posts JSON that the server may get twice, and resolves with the answer, whatever its status. Rejects with TransientFailure when there
 * is no answer, or it breaks off.
 */
export async function postJson(
  transport: Transport,
  { path, body, signal }: { readonly path: string; readonly body: string; readonly signal: AbortSignal },
): Promise<PostedAnswer> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  try {
    const response = await transport.send({ method: "POST", path, headers, body, isRepeatable: true, signal });
    return { status: response.status, text: await boundedText(response.body, largestAnswerBytes) };
  } catch (cause) {
    // The error of an aborted request does not say why it was aborted.
    if (isLate(signal)) throw new TransientFailure("no answer in time", { cause: signal.reason });
    throw new TransientFailure((cause instanceof Error && messageOf(cause)) || "no answer", { cause });
  }
}

/** The failure of an answer with a status that is no success. */
export const statusFailure = (status: number): Error => {
  const message = `it answered ${status}`;
  if (unavailable.has(status)) return new TransientFailure(message);
  return status >= 500 ? new FailedAnswer(message) : new UnusableAnswer(message);
};

/** What a server that has too much to do answers to any question, and a gateway whose server is away. */
const unavailable: ReadonlySet<number> = new Set([429, 502, 503, 504]);
