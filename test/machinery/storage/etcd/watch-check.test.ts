import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type {
  KeyValue,
  RangeAnswer,
  RangeMessage,
  WatchEvent,
} from "../../../../src/machinery/storage/etcd/etcd-messages.ts";
import { WatchCheck } from "../../../../src/machinery/storage/etcd/watch-check.ts";

/** The keys that etcd has, by name, with the revisions that created and changed them last. */
type Keys = Readonly<Record<string, readonly [created: number, changed: number]>>;

const keyValue = (key: string, [createRevision, modRevision]: readonly [number, number]): KeyValue => ({
  key,
  value: Buffer.alloc(0),
  createRevision,
  modRevision,
});
const put = (key: string, created: number, changed = created): WatchEvent => ({
  isDelete: false,
  keyValue: keyValue(key, [created, changed]),
});
const deleted = (key: string, revision: number): WatchEvent => ({
  isDelete: true,
  keyValue: keyValue(key, [0, revision]),
});

/** Of an etcd that had the keys `/a` and `/b` at revision 10, where the watch begins, and pages of two keys. */
async function openCheck() {
  let keys: Keys = { "/a": [3, 3], "/b": [4, 9] };
  let isAway = false;
  let doesNotGoOn = false;
  let losses = 0;
  const check = new WatchCheck({
    range: { key: "/", rangeEnd: "0" },
    afterRevision: 10,
    async read({ key: first, limit, revision }: RangeMessage): Promise<RangeAnswer> {
      if (isAway) throw new Error("compacted");
      if (doesNotGoOn) return { revision, keyValues: [keyValue("/", [1, 1])], hasMore: true, count: 1 };
      const all = Object.entries(keys).filter(([key]) => key >= first);
      const keyValues = all.slice(0, Math.min(limit, 2)).map(([key, revisions]) => keyValue(key, revisions));
      return { revision, keyValues, hasMore: all.length > keyValues.length, count: all.length };
    },
  });
  check.onLoss(() => (losses += 1));
  await check.check(); // its first look counts these keys
  return {
    add: (events: readonly WatchEvent[], revision: number) => check.add(events, revision),
    addWrite: (revision: number) => check.addWrite(revision),
    lossesSoFar(): number {
      check.stop();
      return losses;
    },
    async lossesWith(now: Keys): Promise<number> {
      keys = now;
      await check.check();
      check.stop();
      return losses;
    },
    async lookInVain() {
      isAway = true;
      check.add([], 11);
      await check.check();
      isAway = false;
      doesNotGoOn = true;
      check.add([], 12);
      await check.check();
      doesNotGoOn = false;
    },
  };
}

describe("the comparison of a watch with the keys of etcd", () => {
  const everything = [
    put("/a", 3, 11),
    deleted("/b", 12),
    put("/c", 13),
    put("/d", 14),
    deleted("/d", 15),
    put("/b", 16),
  ];
  const now: Keys = { "/a": [3, 11], "/b": [16, 16], "/c": [13, 13] };

  it("finds nothing where all changes came, also those of the transaction in which the watch begins", async () => {
    const { add, lossesWith } = await openCheck();
    add([put("/b", 4, 9), put("/a", 10)], 10);
    add(everything, 16);
    assert.equal(await lossesWith(now), 0);
  });

  for (const [lost, index] of [
    ["update", 0],
    ["create", 2],
    ["delete", 4],
  ] as const) {
    it(`finds a missing ${lost}`, async () => {
      const { add, lossesWith } = await openCheck();
      add(everything.toSpliced(index, 1), 16);
      assert.equal(await lossesWith(now), 1);
    });
  }

  for (const [when, isAnsweredFirst] of [
    ["before", true],
    ["after", false],
  ] as const) {
    it(`finds at once that a write was not told whose answer comes ${when} the later events, or a report of progress`, async () => {
      for (const later of [[put("/c", 13)], []]) {
        const { add, addWrite, lossesSoFar } = await openCheck();
        add([put("/a", 3, 11)], 11);
        if (isAnsweredFirst) addWrite(12);
        add(later, 13);
        if (!isAnsweredFirst) addWrite(12);
        assert.equal(lossesSoFar(), 1);
      }
    });
  }

  it("finds no loss of a write of this process that was told, is still to be told, or was there before the watch", async () => {
    for (const revision of [10, 11, 12, 14]) {
      const { add, addWrite, lossesSoFar } = await openCheck();
      add([put("/a", 3, 11), deleted("/b", 12)], 13);
      addWrite(revision);
      add([put("/a", 3, 14)], 14);
      assert.equal(lossesSoFar(), 0);
    }
  });

  it("finds no loss of a write of this process that was answered after ten thousand later events", async () => {
    const { add, addWrite, lossesSoFar } = await openCheck();
    for (let revision = 11; revision <= 10_012; revision++) add([put("/a", 3, revision)], revision);
    addWrite(11);
    assert.equal(lossesSoFar(), 0);
  });

  it("takes the watch for one that hangs after ten thousand writes of this process without an event", async () => {
    const { addWrite, lossesSoFar } = await openCheck();
    for (let revision = 11; revision <= 10_011; revision++) addWrite(revision);
    assert.equal(lossesSoFar(), 1);
  });

  it("finds nothing where events come again, to the next watch", async () => {
    const { add, lossesWith } = await openCheck();
    add(everything.slice(0, 4), 14);
    add(everything.slice(2), 16);
    assert.equal(await lossesWith(now), 0);
  });

  it("finds nothing after a look that failed, or whose pages did not continue, and continues from there", async () => {
    const { add, lossesWith, lookInVain } = await openCheck();
    await lookInVain();
    add([put("/e", 17)], 17);
    assert.equal(await lossesWith({ ...now, "/e": [17, 17], "/b": [4, 9], "/a": [3, 3], "/c": [5, 5] }), 0);
  });
});
