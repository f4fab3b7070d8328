import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FairShare } from "../../../src/machinery/scheduling/fair-share.ts";
import { shareLevels } from "../../../src/machinery/scheduling/share-path.ts";
import type { SharePath } from "../../../src/machinery/scheduling/share-path.ts";

const person = (name: string): SharePath => ["others", `others/${name}`];
const account = (namespace: string, name: string): SharePath => [
  "workloads",
  `workloads/${namespace}`,
  `workloads/${namespace}/${name}`,
];

/** Takes as many places as the user may have, and says how many. */
function takeAll(share: FairShare, path: SharePath): number {
  let count = 0;
  while (share.mayTake(path)) {
    share.take(path);
    count++;
  }
  return count;
}

describe("a fair share", () => {
  it("leaves places to others, however many users take all that they may have", () => {
    const share = new FairShare({ places: 200, sharePerUser: 0.75 });
    const taken = ["a", "b", "c", "d"].map((user) => takeAll(share, person(user)));
    assert.deepEqual(taken, [123, 30, 8, 2]);
    assert.equal(share.mayTake(person("e")), true);
  });

  it("keeps a sixteenth of the places for each level, however many users of another take all of theirs", () => {
    const share = new FairShare({ places: 200, sharePerUser: 0.75 });
    for (let user = 0; user < 300; user++) takeAll(share, person(`${user}`));
    assert.equal(share.taken, 200 - 3 * 12);
    for (const level of ["system", "nodes", "workloads"] as const) {
      const taken = Array.from({ length: 300 }, (_, user) => takeAll(share, [level, `${level}/${user}`]));
      assert.equal(
        taken.reduce((sum, count) => sum + count),
        12,
        level,
      );
    }
    assert.equal(share.isFull, true);
  });

  it("lets a level have what is kept for it, whatever the others have", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...shareLevels), fc.nat(5), fc.nat(40))), (wishes) => {
        const share = new FairShare({ places: 64, sharePerUser: 0.75 });
        const held = new Map<string, number>();
        for (const [level, user, count] of wishes) {
          for (let index = 0; index < count && share.mayTake([level, `${level}/${user}`]); index++) {
            share.take([level, `${level}/${user}`]);
            held.set(level, (held.get(level) ?? 0) + 1);
          }
        }
        assert.ok(share.taken <= 64);
        for (const level of shareLevels) {
          if ((held.get(level) ?? 0) < 4) assert.equal(share.mayTake([level, `${level}/new`]), true, level);
        }
      }),
    );
  });

  it("gives all service accounts of one namespace together what it gives a user, and each its share of that", () => {
    const share = new FairShare({ places: 200, sharePerUser: 0.75 });
    const taken = ["a", "b", "c"].map((name) => takeAll(share, account("evil", name)));
    assert.deepEqual(taken, [92, 23, 6]);
    for (let index = 0; index < 100; index++) takeAll(share, account("evil", `${index}`));
    assert.equal(share.taken, 123);
    assert.ok(takeAll(share, account("good", "a")) > 0);
  });

  it("gives the last place to a user who has none", () => {
    const share = new FairShare({ places: 2, sharePerUser: 0.75 });
    assert.equal(takeAll(share, person("a")), 1);
    assert.equal(takeAll(share, person("b")), 1);
    assert.equal(share.isFull, true);
    assert.equal(share.mayTake(person("c")), false);
  });

  it("widens with each place that somebody releases", () => {
    const share = new FairShare({ places: 8, sharePerUser: 0.75 });
    assert.deepEqual([takeAll(share, person("a")), takeAll(share, person("b"))], [6, 1]);
    for (let count = 0; count < 4; count++) share.release(person("a"));
    assert.equal(takeAll(share, person("b")), 3);
  });

  it("has room again for everybody when all have left", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 60 }), (users) => {
        const share = new FairShare({ places: 10, sharePerUser: 0.75 });
        const holders = users.filter((user) => {
          if (!share.mayTake(person(user))) return false;
          share.take(person(user));
          return true;
        });
        assert.ok(share.taken <= 10);
        for (const user of holders) share.release(person(user));
        assert.equal(share.taken, 0);
        assert.equal(takeAll(share, person("d")), 7);
      }),
    );
  });
});
