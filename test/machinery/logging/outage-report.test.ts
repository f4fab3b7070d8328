import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OutageReport } from "../../../src/machinery/logging/outage-report.ts";

describe("a report of an outage", () => {
  it("reports the first failure, each new reason and the recovery once each", () => {
    const told: string[] = [];
    const outage = new OutageReport({
      onFailure: (reason) => void told.push(reason),
      onRecovery: () => void told.push("works again"),
    });
    outage.succeeded();
    assert.deepEqual(told, []);
    outage.failed(new Error("away"));
    outage.failed(new Error("away"));
    outage.failed("silent");
    assert.equal(outage.reason, "silent");
    outage.succeeded();
    outage.succeeded();
    assert.equal(outage.reason, undefined);
    outage.failed(new Error("away"));
    assert.deepEqual(told, ["away", "silent", "works again", "away"]);
  });

  it("cuts long reasons, which may come from outside, and not in the middle of a letter", () => {
    for (const long of ["x".repeat(10_000), `x${"\u{1f600}".repeat(5000)}`]) {
      let told = "";
      new OutageReport({ onFailure: (reason) => (told = reason), onRecovery: () => {} }).failed(long);
      assert.deepEqual([told.length, told.isWellFormed()], [500, true]);
    }
  });

  describe("is made ten times a minute at most", () => {
    const told: string[] = [];
    const outage = new OutageReport({
      onFailure: (reason) => void told.push(reason),
      onRecovery: () => void told.push("works again"),
    });

    it("though each reason is a new one", (context) => {
      let now = 0;
      context.mock.method(performance, "now", () => now);
      for (let request = 0; request < 1000; request++) outage.failed(`request ${request} failed`);
      assert.equal(told.length, 10);
      assert.equal(outage.reason, "request 999 failed");
      now = 60_000;
      outage.failed("request 1000 failed");
      outage.succeeded();
      assert.deepEqual(told.splice(0).slice(10), ["request 1000 failed", "works again"]);
    });

    it("though the failure ends again and again", (context) => {
      context.mock.method(performance, "now", () => 120_000);
      for (let times = 0; times < 1000; times++) {
        outage.failed("away");
        outage.succeeded();
      }
      assert.equal(told.length, 20);
    });
  });
});
