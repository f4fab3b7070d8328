import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import { postJson, TransientFailure } from "../../../src/machinery/client/webhooks/post-json.ts";
import { loggedBug, loggedError } from "../../../src/machinery/logging/logged-error.ts";

const thrownBy = (act: () => unknown): Error => {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it threw no error");
};

const raw =
  "40A3:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../ssl/record/methods.c:78:\n";

describe("an error in a line of the log", () => {
  it("has its message and no stack where the program expects it", () => {
    const failure = new StoreUnavailable("etcd does not answer");
    assert.deepEqual(loggedError(failure), { type: "StoreUnavailable", message: "etcd does not answer" });
    const missing = thrownBy(() => readFileSync("/does/not/exist"));
    assert.deepEqual(Object.keys(loggedError(missing)), ["type", "message", "code"]);
  });

  it("has the stack of a bug", () => {
    for (const bug of [new Error("cannot happen"), thrownBy(() => (undefined as unknown as { x: 1 }).x)]) {
      assert.match(loggedError(bug).stack ?? "", /logged-error\.test\.ts/);
    }
  });

  it("has OpenSSL's reason alone, once", () => {
    const cause = Object.assign(new Error(raw), { code: "ERR_SSL_WRONG_VERSION_NUMBER" });
    const failure = new TransientFailure(raw, { cause });
    assert.deepEqual(loggedError(failure), { type: "TransientFailure", message: "wrong version number" });
    assert.deepEqual(Object.keys(loggedError(thrownBy(() => createPublicKey("no key")))), ["type", "message", "code"]);
  });

  it("has the messages of causes that its own leaves out", () => {
    const failure = new TransientFailure("the webhook is away", { cause: new Error("the connection was reset") });
    assert.equal(loggedError(failure).message, "the webhook is away: the connection was reset");
  });

  it("has the code where there is no message, as when no address of a host can be reached", async () => {
    const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
    assert.deepEqual(loggedError(refused), { type: "AggregateError", message: "ECONNREFUSED", code: "ECONNREFUSED" });
    const transport = { send: () => Promise.reject(refused), close() {} };
    const { signal } = new AbortController();
    const answer = await postJson(transport, { path: "", body: "{}", signal }).catch((error: Error) => error);
    assert.ok(answer instanceof Error);
    assert.deepEqual(loggedError(answer), { type: "TransientFailure", message: "ECONNREFUSED" });
  });

  it("has a stack where the program expects nothing, whatever was thrown", () => {
    assert.match(loggedBug(new StoreUnavailable("etcd does not answer")).stack ?? "", /logged-error\.test\.ts/);
    assert.equal(loggedBug("gone").message, "gone");
  });
});
