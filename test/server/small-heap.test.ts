import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { IdlePeriods } from "../../src/server/small-heap.ts";

describe("the return of memory by an idle server", () => {
  const heard = (utilizations: readonly number[]): (boolean | undefined)[] => {
    let last: boolean | undefined;
    const idlePeriods = new IdlePeriods({ begin: () => (last = true), end: () => (last = false) });
    return utilizations.map((utilization) => {
      last = undefined;
      idlePeriods.sample(utilization);
      return last;
    });
  };
  const none = undefined;

  it("starts after three idle checks, and ends after twenty", () => {
    const changes = heard([0.9, ...Array<number>(100).fill(0)]);
    assert.deepEqual([changes.indexOf(true), changes.indexOf(false)], [3, 23]);
    assert.equal(changes.filter((one) => one !== none).length, 2);
  });

  it("starts again only after new work, which ends it at once", () => {
    const changes = heard([0, 0, 0, 0.01, 0.9, 0.9, 0, 0, 0.3, 0, 0, 0]);
    assert.deepEqual(changes, [none, none, true, none, false, none, none, none, none, none, none, true]);
  });
});
