import assert from "node:assert/strict";
import { it } from "node:test";
import { runCrashRounds } from "./crash-rounds.ts";

it("a server that is killed keeps every acknowledged write, and watches resume without a gap", async () => {
  const { losses, violations, acknowledged } = await runCrashRounds({ rounds: 2, clients: 8, seed: 7 });
  assert.deepEqual({ losses, violations }, { losses: [], violations: [] });
  assert.ok(acknowledged > 0);
});
