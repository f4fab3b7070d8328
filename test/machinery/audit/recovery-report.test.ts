import assert from "node:assert/strict";
import { it } from "node:test";
import { recoveryReport } from "../../../src/machinery/audit/recovery-report.ts";
import { ManualTime } from "../../manual-time.ts";

it("a report that events are written again leaves out no loss, and comes once a minute", () => {
  const time = new ManualTime();
  const told: number[] = [];
  const recovered = recoveryReport(time.schedule, (lost) => told.push(lost));
  recovered(4);
  recovered(2);
  recovered(1);
  assert.deepEqual(told, [4]);
  time.pass(60_000);
  assert.deepEqual(told, [4, 3]);
  time.pass(60_000);
  recovered(0);
  assert.deepEqual(told, [4, 3, 0]);
});
