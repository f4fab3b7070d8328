import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PacedChanges } from "../../../src/machinery/storage/etcd/paced-changes.ts";
import type { Change } from "../../../src/machinery/storage/store.ts";

const change = (revision: number, length = 10): Change => {
  return { revision, key: "/a", value: Buffer.alloc(length), createRevision: revision };
};
const changes = (count: number, length?: number): Change[] =>
  Array.from({ length: count }, (_, index) => change(index + 1, length));

interface Delivered {
  readonly revisions: readonly number[];
  readonly upTo: number;
}

function paced(): { readonly delivered: Delivered[]; readonly pauses: string[]; readonly target: PacedChanges } {
  const delivered: Delivered[] = [];
  const pauses: string[] = [];
  const target = new PacedChanges({
    deliver: (some, upTo) => void delivered.push({ revisions: some.map(({ revision }) => revision), upTo }),
    pause: () => void pauses.push("paused"),
    resume: () => void pauses.push("resumed"),
  });
  return { delivered, pauses, target };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
};

describe("paced changes", () => {
  it("are delivered at once when they are few, with the revision that they reach", () => {
    const { delivered, target } = paced();
    target.add(changes(3), 7);
    target.add([], 9);
    assert.deepEqual(delivered, [
      { revisions: [1, 2, 3], upTo: 7 },
      { revisions: [], upTo: 9 },
    ]);
  });

  it("are delivered over several turns of the event loop when they are many, in order", async () => {
    const { delivered, target } = paced();
    target.add(changes(1200), 2000);
    assert.deepEqual([delivered.length, delivered[0]?.upTo], [1, 500]);
    target.add([change(2001)], 2001);
    assert.equal(delivered.length, 1);
    await turns(4);
    assert.deepEqual(
      delivered.map(({ revisions, upTo }) => [revisions.length, upTo]),
      [
        [500, 500],
        [500, 1000],
        [201, 2001],
      ],
    );
    assert.deepEqual(
      delivered.flatMap(({ revisions }) => revisions),
      [...changes(1200), change(2001)].map(({ revision }) => revision),
    );
  });

  it("are fewer in a turn when they are long, and pause their source until some are delivered", async () => {
    const { delivered, pauses, target } = paced();
    target.add(changes(30, 2 ** 20), 30);
    assert.deepEqual([delivered[0]?.revisions.length, pauses], [4, ["paused"]]);
    await turns(10);
    assert.deepEqual(pauses, ["paused", "resumed"]);
    assert.equal(delivered.at(-1)?.upTo, 30);
  });

  it("of one revision stay together", async () => {
    const { delivered, target } = paced();
    target.add([...changes(499), ...Array.from({ length: 10 }, () => change(500)), change(501)], 501);
    await turns(2);
    assert.deepEqual(
      delivered.map(({ revisions, upTo }) => [revisions.length, upTo]),
      [
        [509, 500],
        [1, 501],
      ],
    );
  });

  it("are not delivered after the end", async () => {
    const { delivered, target } = paced();
    target.add(changes(1200), 1200);
    target.end();
    await turns(3);
    assert.equal(delivered.length, 1);
  });
});
