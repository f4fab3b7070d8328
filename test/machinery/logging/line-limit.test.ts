import assert from "node:assert/strict";
import { it } from "node:test";
import { LineLimit } from "../../../src/machinery/logging/line-limit.ts";

it("a limit on log lines passes some in each interval, and reports how many it dropped", () => {
  let now = 0;
  const told: number[] = [];
  const limit = new LineLimit({
    clock: { now: () => now },
    lines: 2,
    intervalMilliseconds: 1000,
    onSuppressed: (lines) => told.push(lines),
  });
  assert.deepEqual([limit.take(), limit.take(), limit.take(), limit.take()], [true, true, false, false]);
  now = 1000;
  assert.deepEqual([limit.take(), limit.take(), limit.take()], [true, true, false]);
  assert.deepEqual(told, [2]);
});
