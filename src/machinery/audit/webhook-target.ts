import type { Sleep } from "../api/clock.ts";
import { postJson, statusFailure, TransientFailure } from "../client/webhooks/post-json.ts";
import type { Transport } from "../client/transport.ts";
import { auditApiVersion } from "./audit-event.ts";
import type { LineTarget } from "./event-queue.ts";

interface WebhookTargetOptions {
  readonly transport: Transport;
  readonly initialBackoffMilliseconds: number;
  readonly sleep: Sleep;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
}

/** Upstream's values: five attempts, and each pause is 1.5 times the last. */
const attempts = 5;
const backoffFactor = 1.5;
const backoffJitter = 0.2;
const timeoutMilliseconds = 30_000;

/**
 * Posts batches of events to the URL of a kubeconfig, as an `EventList` of `audit.k8s.io/v1`. Tries again after a failed
 * connection, 429 and 5xx. Rejects with an Error without the events.
 */
export function webhookTarget({ transport, ...options }: WebhookTargetOptions): LineTarget {
  const closing = new AbortController();
  return {
    isInterruptible: true,
    async deliver(lines) {
      const body = `{"kind":"EventList","apiVersion":"${auditApiVersion}","metadata":{},"items":[${lines.join(",")}]}`;
      for (let attempt = 1; ; attempt++) {
        try {
          return await post(transport, { body, closing: closing.signal });
        } catch (error) {
          if (!(error instanceof TransientFailure) || attempt === attempts || closing.signal.aborted) throw error;
          await options.sleep(pauseAfter(attempt, options), closing.signal);
        }
      }
    },
    close() {
      closing.abort();
      transport.close();
    },
  };
}

const pauseAfter = (
  attempt: number,
  { initialBackoffMilliseconds, random }: Pick<WebhookTargetOptions, "initialBackoffMilliseconds" | "random">,
): number => initialBackoffMilliseconds * backoffFactor ** (attempt - 1) * (1 + backoffJitter * random());

async function post(
  transport: Transport,
  { body, closing }: { readonly body: string; readonly closing: AbortSignal },
): Promise<void> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMilliseconds)]);
  const { status } = await postJson(transport, { path: "", body, signal });
  if (status < 200 || status > 299) throw statusFailure(status);
}
