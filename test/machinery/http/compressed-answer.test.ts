import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import type { HttpRequest, HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { compressed } from "../../../src/machinery/http/compressed-answer.ts";
import type { SharePath } from "../../../src/machinery/scheduling/share-path.ts";

const requestUntil = (signal: AbortSignal): HttpRequest =>
  ({ headers: { "accept-encoding": "gzip" }, signal }) as unknown as HttpRequest; // no more of it is read
const request = requestUntil(new AbortController().signal);
const longAnswer = (): HttpResponse => ({ status: 200, headers: {}, body: "a".repeat(2 ** 20) });

describe("long answers", () => {
  it("are compressed for one user in two threads at most, and for all in three", async (t) => {
    let begun = 0;
    const hook = createHook({ init: (_id, type) => void (begun += type === "ZLIB" ? 1 : 0) }).enable();
    t.after(() => hook.disable());
    const answersFor = (name: string): Promise<HttpResponse>[] => {
      const path: SharePath = ["others", `others/${name}`];
      return Array.from({ length: 10 }, () => compressed(longAnswer(), { request, path }));
    };
    const first = answersFor("first");
    assert.equal(begun, 2);
    const second = answersFor("second");
    assert.equal(begun, 3);
    for (const { body } of await Promise.all([...first, ...second]))
      assert.equal(gunzipSync(body as Buffer).length, 2 ** 20); // what is compressed is bytes
  });

  it("are not compressed for a client that has left before their turn", async () => {
    const path: SharePath = ["others", "others/left"];
    const client = new AbortController();
    const answers = Array.from({ length: 3 }, () =>
      compressed(longAnswer(), { request: requestUntil(client.signal), path }),
    );
    client.abort();
    const encodings = (await Promise.all(answers)).map(({ headers }) => headers["content-encoding"]);
    assert.deepEqual(encodings, ["gzip", "gzip", undefined]);
  });
});
