import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LongWork } from "../../../src/machinery/scheduling/long-work.ts";

it("long computations take turns: one of them runs in each turn of the event loop", async (t) => {
  let milliseconds = 0;
  t.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes a turn
  let steps = "";
  const compute = async (name: string): Promise<void> => {
    const work = new LongWork();
    for (let step = 0; step < 3; step += 1) {
      steps += name;
      await work.pause();
    }
  };
  const all = Promise.all(["a", "b", "c"].map(compute));
  for (const expected of ["abc", "abca", "abcab", "abcabc"]) {
    assert.equal(steps, expected);
    await nextTurn();
  }
  await all;
  assert.equal(steps, "abcabcabc");
});
