import assert from "node:assert/strict";
import { it } from "node:test";
import { runSoak } from "./soak-run.ts";

it("informers with broken connections miss nothing while history is compacted away", async () => {
  const { violations, events, lists, cuts } = await runSoak({ seconds: 3, informers: 6, writers: 8, seed: 3 });
  assert.deepEqual(violations, []);
  assert.ok(events > 0 && cuts > 0);
  assert.ok(lists >= 2 * 6, "the restart behind their backs makes every informer list again");
});
