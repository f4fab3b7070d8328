import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { SortedMap } from "../../../../src/machinery/storage/sorted-map.ts";
import { ValueIndex, ValueIndexes } from "../../../../src/machinery/storage/watch-cache/value-index.ts";
import type { Found, Lookup } from "../../../../src/machinery/storage/watch-cache/value-index.ts";

interface Thing {
  readonly key: string;
  /** "unreadable": asking for it throws. */
  readonly value: string | undefined;
}

const valueOf = ({ value }: Thing): string | undefined => {
  if (value === "unreadable") throw new Error("it cannot be read");
  return value;
};

const keysOf = (found: Found<string> | undefined): readonly string[] | undefined =>
  found instanceof SortedMap ? found.range({ start: "", end: "z" }) : found;

describe("an index of values", () => {
  it("finds the same objects as a full scan, even those that change while it is filled", async () => {
    const value = fc.constantFrom("", "a", "b", undefined);
    const change = fc.record({ key: fc.constantFrom("k1", "k2", "k3", "k4"), value: fc.option(value, { nil: null }) });
    const changes = fc.array(change, { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(changes, changes, changes, async (before, during, after) => {
        const things = new Map<string, Thing>();
        let index: ValueIndex<Thing, string> | undefined;
        const apply = (writes: typeof before): void => {
          for (const { key, value: written } of writes) {
            const [previous, next] = [things.get(key), written === null ? undefined : { key, value: written }];
            if (next === undefined) things.delete(key);
            else things.set(key, next);
            if (previous !== undefined || next !== undefined) index?.replace(previous, next);
          }
        };
        apply(before);
        index = new ValueIndex({ objects: [...things.values()], entryOf: (key) => key, valueOf });
        apply(during);
        while (index.find("a") === undefined) await nextTurn();
        apply(after);
        for (const wanted of ["", "a", "b"]) {
          const expected = [...things.values()].filter((thing) => thing.value === wanted);
          assert.deepEqual(keysOf(index.find(wanted)), expected.map(({ key }) => key).sort());
        }
      }),
      { numRuns: 200 },
    );
  });

  it("finds nothing as long as an object cannot be read", async () => {
    const [readable, unreadable] = [
      { key: "k1", value: "a" },
      { key: "k2", value: "unreadable" },
    ];
    const index = new ValueIndex({ objects: [readable, unreadable], entryOf: (key) => key, valueOf });
    await index.filled;
    assert.equal(index.find("a"), undefined);
    index.replace(unreadable, { key: "k2", value: "a" });
    assert.deepEqual(keysOf(index.find("a")), ["k1", "k2"]);
  });

  it("finds nothing once an object that it had read cannot be read any more", async () => {
    const [first, second] = [
      { key: "k1", value: "a" },
      { key: "k2", value: "a" },
    ];
    const index = new ValueIndex({ objects: [first, second], entryOf: (key) => key, valueOf });
    await index.filled;
    index.replace({ key: "k1", value: "unreadable" }, { key: "k1", value: "b" });
    assert.equal(index.find("a"), undefined);
    assert.equal(index.find("b"), undefined);
  });
});

describe("the indexes of a cache", () => {
  const things = Array.from({ length: 1000 }, (_, n) => ({ key: `k${n}`, value: `v${n % 10}` }));
  const made = (objects = things): ValueIndexes<Thing, string> =>
    new ValueIndexes({ entryOf: (key) => key, size: () => objects.length, objects: () => objects });

  it("are built when a field is asked for a second time, and at most four are kept", async () => {
    let asked = 0;
    const indexes = made();
    const find = (field: string): readonly string[] | undefined => {
      const lookup: Lookup<Thing> = {
        field,
        value: "v3",
        valueOf(thing) {
          asked += 1;
          return valueOf(thing);
        },
      };
      void indexes.prepare(lookup);
      return keysOf(indexes.find(lookup));
    };
    assert.equal(find("a"), undefined);
    await nextTurn();
    assert.equal(asked, 0);
    while (find("a") === undefined) await nextTurn();
    assert.equal(find("a")?.length, 100);
    assert.equal(asked, 1000);
    for (const field of ["b", "c", "d", "e"]) while (find(field) === undefined) await nextTurn();
    assert.equal(find("e")?.length, 100);
    assert.equal(find("a"), undefined);
  });

  it("are rebuilt when an object that was read before cannot be read any more", async () => {
    const indexes = made();
    const lookup = { field: "a", value: "v3", valueOf };
    const ask = (): ReturnType<typeof keysOf> => {
      void indexes.prepare(lookup);
      return keysOf(indexes.find(lookup));
    };
    while (ask() === undefined) await nextTurn();
    indexes.replace({ key: "k3", value: "unreadable" }, { key: "k3", value: "v3" });
    assert.equal(ask(), undefined);
    while (ask() === undefined) await nextTurn();
    assert.equal(ask()?.length, 100);
  });

  it("are not built for few objects", async () => {
    const indexes = made(things.slice(1));
    for (let turn = 0; turn < 5; turn += 1) {
      assert.equal(indexes.prepare({ field: "a", value: "v3", valueOf }), undefined);
      assert.equal(indexes.find({ field: "a", value: "v3", valueOf }), undefined);
      await nextTurn();
    }
  });
});
