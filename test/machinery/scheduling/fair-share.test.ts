import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FairShare } from "../../../src/machinery/scheduling/fair-share.ts";

/** Takes as many places as the user may have, and says how many. */
function takeAll(share: FairShare, username: string): number {
  let count = 0;
  while (share.mayTake(username)) {
    share.take(username);
    count++;
  }
  return count;
}

describe("a fair share", () => {
  it("leaves places to others, however many users take all that they may have", () => {
    const share = new FairShare({ places: 200, sharePerUser: 0.75 });
    assert.deepEqual(
      ["a", "b", "c", "d"].map((user) => takeAll(share, user)),
      [150, 37, 9, 3],
    );
    assert.equal(share.taken, 199);
    assert.equal(share.mayTake("e"), true);
  });

  it("gives the last place to a user who has none", () => {
    const share = new FairShare({ places: 2, sharePerUser: 0.75 });
    assert.equal(takeAll(share, "a"), 1);
    assert.equal(takeAll(share, "b"), 1);
    assert.equal(share.isFull, true);
    assert.equal(share.mayTake("c"), false);
  });

  it("widens with each place that somebody releases", () => {
    const share = new FairShare({ places: 8, sharePerUser: 0.75 });
    assert.deepEqual([takeAll(share, "a"), takeAll(share, "b")], [6, 1]);
    for (let count = 0; count < 4; count++) share.release("a");
    assert.equal(takeAll(share, "b"), 3);
  });

  it("has room again for everybody when all have left", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 60 }), (users) => {
        const share = new FairShare({ places: 10, sharePerUser: 0.75 });
        const holders = users.filter((user) => {
          if (!share.mayTake(user)) return false;
          share.take(user);
          return true;
        });
        assert.ok(share.taken <= 10);
        for (const user of holders) share.release(user);
        assert.equal(share.taken, 0);
        assert.equal(takeAll(share, "d"), 7);
      }),
    );
  });
});
