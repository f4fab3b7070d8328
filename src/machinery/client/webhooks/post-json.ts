import { tlsFailure } from "../../api/tls-failure.ts";
import type { TlsSettingNames } from "../../api/tls-failure.ts";
import { isLate } from "../https/connections.ts";
import { boundedText } from "../bounded-text.ts";
import type { Transport } from "../transport.ts";

/** A failure after which another try may succeed: the connection failed, or the server answered 429 or 5xx. */
export class TransientFailure extends Error {}

/** The server answered that it failed on this question. It may answer other questions well. */
export class FailedAnswer extends TransientFailure {}

/** The server gave an answer that cannot be used. This says nothing about its other answers. */
export class UnusableAnswer extends Error {}

interface PostedAnswer {
  readonly status: number;
  /** Undefined: the body is longer than 1 MiB, or comes in too many parts. */
  readonly text: string | undefined;
}

const settings: TlsSettingNames = {
  authorities: "certificate-authority in its kubeconfig",
  clientCertificate: "client-certificate and client-key in its kubeconfig",
};
const largestAnswerBytes = 1024 * 1024;

/**
 * Posts JSON, which the server may get twice, and resolves with the answer of any status. Rejects with TransientFailure when there is no
 * answer, or when it breaks off.
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
    throw new TransientFailure((cause instanceof Error && tlsFailure(cause, settings)) || "no answer", { cause });
  }
}

/** The error for an answer whose status is not a success. */
export const statusFailure = (status: number): Error => {
  const message = `it answered ${status}`;
  if (unavailable.has(status)) return new TransientFailure(message);
  return status >= 500 ? new FailedAnswer(message) : new UnusableAnswer(message);
};

/** Statuses that say nothing about the question: of an overloaded server, and of a gateway that does not reach its server. */
const unavailable: ReadonlySet<number> = new Set([429, 502, 503, 504]);
