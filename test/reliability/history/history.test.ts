import assert from "node:assert/strict";
import { it } from "node:test";
import { runHistory } from "./history-run.ts";
import { workersTarget } from "./history-target.ts";

it("what clients see of two workers on one store is linearizable, though workers are killed", async () => {
  const target = await workersTarget(2);
  try {
    const { violations, undecided, operations, faults } = await runHistory({
      target,
      seconds: 3,
      clients: 8,
      seed: 5,
      faultIntervalMilliseconds: 700,
    });
    assert.deepEqual({ violations, undecided }, { violations: [], undecided: [] });
    assert.ok(operations > 0 && faults > 0);
  } finally {
    await target.stop();
  }
});
