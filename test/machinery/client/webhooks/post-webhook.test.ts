import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Transport } from "../../../../src/machinery/client/transport.ts";
import { FailedAnswer, TransientFailure, UnusableAnswer } from "../../../../src/machinery/client/webhooks/post-json.ts";
import { postWebhook } from "../../../../src/machinery/client/webhooks/post-webhook.ts";

/** Posts a review to a server that answers with these statuses. 0: the connection fails, and -1: there is no answer in time. */
async function postTo(...statuses: readonly number[]) {
  let [tries, pauses] = [0, 0];
  const send: Transport["send"] = async ({ signal }) => {
    const status = statuses[Math.min(tries, statuses.length - 1)] ?? 0;
    tries += 1;
    if (status === 0) throw new Error("the connection failed");
    if (status < 0) {
      for (;;) {
        await turn();
        signal?.throwIfAborted();
      }
    }
    return { status, headers: {}, body: (async function* () {})() };
  };
  const schedule = (callback: () => void) => {
    pauses += 1;
    setImmediate(callback);
    return () => {};
  };
  const timeoutMilliseconds = statuses.includes(-1) ? 1 : 60_000;
  const post = postWebhook({ transport: { send, close() {} }, timeoutMilliseconds, schedule });
  const error: unknown = await post({}).catch((thrown: unknown) => thrown);
  return { error, tries, pauses };
}

describe("a review that a webhook does not answer", () => {
  it("is posted three times, after pauses, when another try may succeed", async () => {
    for (const status of [0, 429, 500, 502, 503, 504]) {
      const { error, tries, pauses } = await postTo(status);
      assert.ok(error instanceof TransientFailure, String(status));
      assert.equal(error instanceof FailedAnswer, status === 500, String(status));
      assert.deepEqual([tries, pauses], [3, 2], String(status));
    }
  });

  it("is posted once when the webhook refuses it, also with a success that is none of a review", async () => {
    for (const status of [202, 204, 301, 400, 401, 404]) {
      const { error, tries } = await postTo(status);
      assert.ok(error instanceof UnusableAnswer, String(status));
      assert.equal(tries, 1, String(status));
    }
  });

  it("is not posted again, and nothing waits, once the time for all tries is over", async () => {
    const { error, tries, pauses } = await postTo(-1);
    assert.ok(error instanceof TransientFailure);
    assert.deepEqual([error.message, tries, pauses], ["no answer in time", 1, 0]);
  });
});
