import { jsonFields } from "../../api/json/json-object.ts";
import { systemSchedule } from "../../api/clock.ts";
import type { Schedule } from "../../api/clock.ts";
import { answeredJson } from "./answered-json.ts";
import { postJson, statusFailure, TransientFailure, UnusableAnswer } from "./post-json.ts";
import type { Transport } from "../transport.ts";

export interface PostWebhookOptions {
  readonly transport: Transport;
  /** The path below the URL of the transport. Default: the URL itself. */
  readonly path?: string;
  /** The time for all tries together. */
  readonly timeoutMilliseconds: number;
  readonly schedule?: Schedule;
}

/** The pauses between three attempts. Upstream has five, but three end within the time that a client waits. */
const pausesMilliseconds = [250, 500];

/**
 * Posts a review as JSON and returns the fields of the answer. Tries again after a failed connection, 429 and 5xx, at most
 * twice, with random pauses. Rejects with an Error that quotes nothing of the review, and with UnusableAnswer for an unusable answer.
 */
export const postWebhook =
  ({ transport, path = "", timeoutMilliseconds, schedule = systemSchedule }: PostWebhookOptions) =>
  async (review: unknown): Promise<Readonly<Record<string, unknown>>> => {
    const body = JSON.stringify(review);
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    for (const pause of pausesMilliseconds) {
      try {
        return await post(transport, { path, body, signal });
      } catch (error) {
        if (!(error instanceof TransientFailure) || signal.aborted) throw error;
        await new Promise<void>((resolve) => schedule(resolve, pause * (0.5 + Math.random())));
      }
    }
    return post(transport, { path, body, signal });
  };

async function post(
  transport: Transport,
  request: { readonly path: string; readonly body: string; readonly signal: AbortSignal },
): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await postJson(transport, request);
  if (text === undefined) throw new UnusableAnswer("its answer is larger than 1 MiB, or comes in too many parts");
  if (status !== 200 && status !== 201) throw statusFailure(status);
  return jsonFields(answeredJson(text));
}
