import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FuzzAnswer, FuzzRequest } from "./fuzz-request.ts";
import { minimise } from "./minimise.ts";
import { faultOf } from "./oracle.ts";

const request: FuzzRequest = {
  protocol: "h2",
  method: "POST",
  target: "/api/v1/namespaces/fuzz-a/secrets?pretty=true&dryRun=All",
  headers: [
    ["x-a", "b"],
    ["x-b", "c"],
  ],
  body: Buffer.from(JSON.stringify({ metadata: { name: "a", labels: { a: "b" } }, data: { bad: "x".repeat(64) } })),
  framing: "length",
};

const answer = (status: number, body: unknown): FuzzAnswer => ({
  status,
  headers: new Map([["content-type", "application/json"]]),
  body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  isStream: false,
});
const refusal = { kind: "Status", code: 422, message: "no" };

describe("the fuzzer's judge", () => {
  it("accepts objects, refusals that say what is wrong, and declared failures", () => {
    for (const good of [
      answer(201, { kind: "Secret" }),
      answer(422, refusal),
      answer(504, { ...refusal, code: 504 }),
      answer(404, '{"kind":"Status","code":404,"message":"not found"}'),
    ]) {
      assert.equal(faultOf(request, good), undefined);
    }
  });

  it("finds failures, huge answers, broken ones, refusals without a message, and missing answers", () => {
    for (const bad of [
      answer(500, { ...refusal, code: 500 }),
      answer(422, { ...refusal, message: "x".repeat(2 ** 20) }),
      answer(201, { kind: "Secret", data: "x".repeat(4 * 2 ** 20) }),
      answer(200, "{"),
      answer(422, { ...refusal, code: 400 }),
      answer(422, { ...refusal, message: "" }),
      answer(200, String.raw`{"kind":"Secret","metadata":{"name":"\ud800"}}`),
      { ...answer(0, ""), headers: new Map() },
    ]) {
      assert.notEqual(faultOf(request, bad), undefined, bad.body.toString("utf8", 0, 80));
    }
  });

  it("takes megabytes of metrics, which grow with each kind and verb that was asked for", () => {
    const metrics = { ...answer(200, "a 1\n".repeat(2 ** 20)), headers: new Map([["content-type", "text/plain"]]) };
    assert.equal(faultOf({ ...request, target: "/metrics" }, metrics), undefined);
    assert.notEqual(faultOf(request, metrics), undefined);
  });

  it("lets HTTP end a connection over a malformed request", () => {
    const malformed: FuzzRequest = { ...request, headers: [["x-a", "a\u0000b"]] };
    assert.equal(faultOf(malformed, { ...answer(0, ""), headers: new Map() }), undefined);
  });
});

describe("the smallest request that shows a fault", () => {
  it("contains nothing that the fault does not need", async () => {
    const smallest = await minimise(request, ({ body, headers }) =>
      Promise.resolve(body.includes("bad") && headers.some(([name]) => name === "x-b")),
    );
    assert.deepEqual(smallest.headers, [["x-b", "c"]]);
    assert.equal(smallest.target, "/api/v1/namespaces/fuzz-a/secrets");
    assert.equal(smallest.body.toString(), '{"data":{"bad":"x"}}');
  });

  it("is found in a bounded number of tries", async () => {
    let tries = 0;
    await minimise({ ...request, body: Buffer.alloc(1_000_000, "x") }, () => Promise.resolve(tries++ < 1e6));
    assert.ok(tries <= 401);
  });
});
