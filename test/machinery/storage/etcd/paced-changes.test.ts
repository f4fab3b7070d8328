import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PacedChanges } from "../../../../src/machinery/storage/etcd/paced-changes.ts";
import type { Change } from "../../../../src/machinery/storage/store.ts";

const change = (revision: number, length = 10): Change => {
  return { revision, key: "/a", value: Buffer.alloc(length), createRevision: revision };
};
const changes = (count: number, length?: number): Change[] =>
  Array.from({ length: count }, (_, index) => change(index + 1, length));

interface Delivered {
  readonly revisions: readonly number[];
  readonly upTo: number;
}

/** `revisionsInATurn`: how many a turn has time for. */
function paced({ revisionsInATurn = Infinity }: { readonly revisionsInATurn?: number } = {}): {
  readonly delivered: Delivered[];
  readonly pauses: string[];
  readonly target: PacedChanges;
} {
  const delivered: Delivered[] = [];
  const pauses: string[] = [];
  let inTurn = 0;
  const target = new PacedChanges({
    transactionOf: (revision) => Math.ceil(revision),
    deliver(some, upTo) {
      delivered.push({ revisions: some.map(({ revision }) => revision), upTo });
      inTurn += 1;
      setImmediate(() => (inTurn = 0));
    },
    pause: () => void pauses.push("paused"),
    resume: () => void pauses.push("resumed"),
    isTurnOver: () => inTurn >= revisionsInATurn,
  });
  return { delivered, pauses, target };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
};

describe("paced changes", () => {
  it("are delivered at once when that takes less than a turn, with the revision that they reach", () => {
    const { delivered, target } = paced();
    target.add(changes(3), 7);
    target.add([], 9);
    assert.deepEqual(delivered, [
      { revisions: [1], upTo: 1 },
      { revisions: [2], upTo: 2 },
      { revisions: [3], upTo: 7 },
      { revisions: [], upTo: 9 },
    ]);
  });

  it("are delivered over several turns of the event loop when that takes longer, in order", async () => {
    const { delivered, target } = paced({ revisionsInATurn: 2 });
    target.add(changes(5), 7);
    target.add([change(8)], 9);
    assert.deepEqual(
      delivered.map(({ upTo }) => upTo),
      [1, 2],
    );
    await turns(4);
    assert.deepEqual(
      delivered.map(({ upTo }) => upTo),
      [1, 2, 3, 4, 5, 9],
    );
    assert.deepEqual(
      delivered.flatMap(({ revisions }) => revisions),
      [1, 2, 3, 4, 5, 8],
    );
  });

  it("that come one by one share the turn", async () => {
    const { delivered, target } = paced({ revisionsInATurn: 2 });
    for (const one of changes(5)) target.add([one], one.revision);
    assert.equal(delivered.length, 2);
    await turns(4);
    assert.deepEqual(
      delivered.map(({ upTo }) => upTo),
      [1, 2, 3, 4, 5],
    );
  });

  it("that are long pause their source until some are delivered", async () => {
    const { delivered, pauses, target } = paced({ revisionsInATurn: 4 });
    target.add(changes(30, 2 ** 20), 30);
    assert.deepEqual([delivered.length, pauses], [4, ["paused"]]);
    await turns(10);
    assert.deepEqual(pauses, ["paused", "resumed"]);
    assert.equal(delivered.at(-1)?.upTo, 30);
  });

  it("of one transaction stay together", () => {
    const { delivered, target } = paced();
    const together = Array.from({ length: 10 }, (_, index) => change(1 + (index + 1) / 10));
    target.add([change(1), ...together, change(3)], 3);
    assert.deepEqual(
      delivered.map(({ revisions, upTo }) => [revisions.length, upTo]),
      [
        [1, 1],
        [10, 2],
        [1, 3],
      ],
    );
  });

  it("are not delivered after the end", async () => {
    const { delivered, target } = paced({ revisionsInATurn: 1 });
    target.add(changes(3), 3);
    target.end();
    await turns(3);
    assert.equal(delivered.length, 1);
  });
});
