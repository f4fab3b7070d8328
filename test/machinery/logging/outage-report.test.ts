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

  it("cuts long reasons, which may come from outside", () => {
    let told = "";
    new OutageReport({ onFailure: (reason) => (told = reason), onRecovery: () => {} }).failed("x".repeat(10_000));
    assert.equal(told.length, 500);
  });
});
