import assert from "node:assert/strict";
import { it } from "node:test";
import { LineLimit } from "../../../src/machinery/logging/line-limit.ts";

it("a limit on log lines passes some in each interval, and reports how many it dropped", () => {
  let now = 0;
  const limit = new LineLimit({ clock: { now: () => now }, lines: 2, intervalMilliseconds: 1000 });
  const take = (times: number) => Array.from({ length: times }, () => limit.take());
  assert.deepEqual(take(4), [0, 0, undefined, undefined]);
  now = 1000;
  assert.deepEqual(take(3), [2, 0, undefined]);
});
