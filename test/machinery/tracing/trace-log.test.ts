import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import { traced, loopChannel } from "../../../src/machinery/tracing/loop-trace.ts";
import { requestChannel, RequestTrace } from "../../../src/machinery/tracing/request-trace.ts";
import { logTraces } from "../../../src/machinery/tracing/trace-log.ts";

describe("the debug log", () => {
  const lines: { readonly fields: object; readonly message: string }[] = [];
  const logAt = (level: string) => ({
    isLevelEnabled: (asked: string) => asked === level,
    debug: (fields: object, message: string) => void lines.push({ fields, message }),
  });

  it("does not subscribe at other levels, so that loops are not even timed", async () => {
    logTraces(logAt("info"));
    assert.equal(requestChannel.hasSubscribers, false);
    assert.equal(loopChannel.hasSubscribers, false);
    const now = mock.method(performance, "now");
    await traced("cleaner", () => Promise.resolve("done"))("a");
    assert.equal(now.mock.callCount(), 0);
    now.mock.restore();
  });

  it("has one line for each request and each reconcile of a loop, failures included", async () => {
    logTraces(logAt("debug"));
    const trace = new RequestTrace();
    trace.begin("authorize");
    trace.decided("allow");
    trace.publish({ auditId: "id", method: "GET", uri: "/x", user: "jane", status: 200 });
    const reconcile = traced("cleaner", (key) =>
      key === "bad" ? Promise.reject(new Error("no")) : Promise.resolve("nothing to do: it is clean"),
    );
    await reconcile("a");
    await assert.rejects(reconcile("bad"), /no/);
    const [request, done, failed] = lines.map(({ fields, message }) =>
      JSON.parse(JSON.stringify({ ...fields, message }).replaceAll(/\d+ µs/g, "N µs")),
    );
    assert.deepEqual(
      { ...request, microseconds: 0 },
      {
        ...{ auditId: "id", method: "GET", uri: "/x", user: "jane", status: 200, microseconds: 0, message: "request" },
        steps: ["authorize N µs: allow"],
      },
    );
    assert.deepEqual(
      { ...done, microseconds: 0 },
      {
        ...{ controller: "cleaner", key: "a", outcome: "nothing to do: it is clean", microseconds: 0, message: "loop" },
      },
    );
    assert.equal(failed.outcome, "failed, will retry: no");
    assert.equal(lines.length, 3);
  });
});
