import assert from "node:assert/strict";
import { it } from "node:test";
import { postJson, TransientFailure } from "../../../../src/machinery/client/webhooks/post-json.ts";
import type { Transport } from "../../../../src/machinery/client/transport.ts";

it("a webhook that does not answer in time fails with a message that says so, and another try may succeed", async () => {
  const silent: Transport = {
    send: ({ signal }) =>
      new Promise((_, reject) => {
        const fail = (): void => reject(new DOMException("The operation was aborted", "AbortError"));
        signal?.addEventListener("abort", fail);
      }),
    close() {},
  };
  const time = new AbortController();
  const posted = postJson(silent, { path: "", body: "{}", signal: time.signal });
  time.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  await assert.rejects(
    posted,
    (error) => error instanceof TransientFailure && /^no answer in time$/.test(error.message),
  );
});
