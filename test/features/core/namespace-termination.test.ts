import assert from "node:assert/strict";
import { it } from "node:test";
import { nextCheckMilliseconds } from "../../../src/features/core/namespace-termination.ts";

it("a namespace whose objects do not go away is looked at every second at first, and then less often", () => {
  assert.deepEqual(
    [0, 5000, 10_000, 50_000, 600_000, 86_400_000].map(nextCheckMilliseconds),
    [1000, 1000, 1000, 5000, 10_000, 10_000],
  );
  let checks = 0;
  for (let passed = 5000; passed < 3_600_000; passed += nextCheckMilliseconds(passed)) checks += 1;
  assert.ok(checks < 400, `${checks} in an hour`);
});
