import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { RoundRobinQueue } from "../../../src/machinery/scheduling/round-robin-queue.ts";
import type { SharePath } from "../../../src/machinery/scheduling/share-path.ts";
import { cpuSecondsOf } from "../../cpu-seconds-of.ts";

const node: SharePath = ["nodes", "nodes/n"];
const [one, two]: SharePath[] = ["a", "b"].map((name) => ["workloads", "workloads/ns", `workloads/ns/${name}`]);
const other: SharePath = ["workloads", "workloads/other", "workloads/other/c"];

function queueOf(...paths: readonly (SharePath | undefined)[]): RoundRobinQueue<SharePath> {
  const queue = new RoundRobinQueue<SharePath>();
  for (const path of paths) if (path !== undefined) queue.add(path, path);
  return queue;
}

function takeAll(queue: RoundRobinQueue<SharePath>, mayTake?: (path: SharePath) => boolean): (string | undefined)[] {
  const taken: (string | undefined)[] = [];
  for (let next = queue.take(mayTake); next !== undefined; next = queue.take(mayTake))
    taken.push(next.item.at(-1)?.slice(-1));
  return taken;
}

describe("a queue in which users take turns", () => {
  it("gives turns to levels, then to namespaces and users, then to the accounts of a namespace", () => {
    const queue = queueOf(one, one, one, two, other, other, node);
    assert.deepEqual(takeAll(queue), ["a", "n", "c", "b", "c", "a", "a"]);
  });

  it("serves each who waits once before it serves another twice, whoever comes and goes", () => {
    const users = ["a", "b", "c", "d"].map((name): SharePath => ["others", `others/${name}`]);
    const step = fc.oneof(fc.constantFrom(...users), fc.constant(undefined));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = queueOf();
        let round: (readonly SharePath[])[] = []; // what each who waits has sent, in the order of their turns
        for (const user of steps) {
          if (user !== undefined) {
            queue.add(user, user);
            const isKnown = round.some(([sent]) => sent === user);
            round = isKnown ? round.map((sent) => (sent[0] === user ? [...sent, user] : sent)) : [...round, [user]];
            continue;
          }
          const [first = [], ...others] = round;
          assert.equal(queue.take()?.item, first[0]);
          round = first.length > 1 ? [...others, first.slice(1)] : others;
        }
      }),
    );
  });

  it("takes as long for each of many as for each of few", async () => {
    const many = 400_000;
    const queue = queueOf();
    const seconds = await cpuSecondsOf(() => {
      for (let added = 0; added < many; added++) queue.add(node, node);
      assert.equal(takeAll(queue).length, many);
    });
    assert.ok(seconds < 10, `${seconds} seconds`);
  });

  it("takes as long for one of many users as for one of few", async () => {
    const users = Array.from({ length: 100_000 }, (_, index): SharePath => ["others", `others/${index}`]);
    const queue = queueOf();
    const seconds = await cpuSecondsOf(() => {
      for (let round = 0; round < 2; round++) for (const user of users) queue.add(user, user);
      for (let taken = 0; taken < users.length * 2; taken++)
        assert.equal(queue.take()?.item, users[taken % users.length]);
    });
    assert.ok(seconds < 10, `${seconds} seconds`);
  });

  it("leaves those that are passed over in their places", () => {
    const queue = queueOf(one, one, two, two, other, other, node);
    const first = queue.take((path) => path.length === 1 || path[1] !== "workloads/ns");
    assert.equal(first?.item, other);
    assert.deepEqual(takeAll(queue), ["n", "a", "c", "b", "a", "b"]);
  });

  it("asks once for all who wait below a namespace that may take nothing", () => {
    const queue = queueOf(...Array.from({ length: 100 }, () => one), two, node);
    const asked: SharePath[] = [];
    const taken = takeAll(queue, (path) => {
      asked.push(path);
      return path[1] !== "workloads/ns";
    });
    assert.deepEqual(taken, ["n"]);
    assert.ok(asked.length < 10, `${asked.length}`);
  });
});
