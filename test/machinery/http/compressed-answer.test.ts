import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import type { HttpRequest, HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { compressed } from "../../../src/machinery/http/compressed-answer.ts";
import type { SharePath } from "../../../src/machinery/scheduling/share-path.ts";

const request = { headers: { "accept-encoding": "gzip" } } as unknown as HttpRequest; // no more of it is read
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
});
