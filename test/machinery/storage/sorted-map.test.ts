import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { SortedMap } from "../../../src/machinery/storage/sorted-map.ts";
import type { SortedPart } from "../../../src/machinery/storage/sorted-map.ts";
import { isBetween } from "./store-model.ts";

const valuesOf = <V>(parts: readonly SortedPart<V>[]): V[] =>
  parts.flatMap(({ values, from, to }) => values.slice(from, to));

const key = fc.string({ unit: "grapheme", maxLength: 3 });

describe("a sorted map", () => {
  it("lists and counts in the order of UTF-8 bytes, like a sorted array", () => {
    const change = fc.record({ key, isDelete: fc.boolean() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), key, key, fc.nat(5), (changes, start, end, limit) => {
        const map = new SortedMap<string>();
        const model = new Set<string>();
        for (const { key: changed, isDelete } of changes) {
          if (isDelete) assert.equal(map.delete(changed), model.delete(changed));
          else {
            map.set(changed, changed);
            model.add(changed);
          }
        }
        const expected = [...model]
          .sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
          .filter((candidate) => isBetween({ key: candidate, start, end }));
        assert.deepEqual(map.range({ start, end, limit }), limit === 0 ? expected : expected.slice(0, limit));
        assert.deepEqual(valuesOf(map.share({ start, end, limit })), map.range({ start, end, limit }));
        assert.equal(map.count({ start, end }), expected.length);
        assert.equal(map.size, model.size);
      }),
    );
  });

  it("keeps its order through the splitting and emptying of many chunks", () => {
    const map = new SortedMap<number>();
    const numbers = Array.from({ length: 20_000 }, (_, index) => (index * 7919) % 20_000);
    const keyOf = (number: number): string => `/${String(number).padStart(6, "0")}`;
    for (const number of numbers) map.set(keyOf(number), number);
    assert.deepEqual(map.range({ start: "/", end: "0" }), Array.from(numbers.keys()));
    assert.equal(map.count({ start: keyOf(100), end: keyOf(15_000) }), 14_900);
    for (const number of numbers) if (number % 1000 !== 0) assert.ok(map.delete(keyOf(number)));
    assert.equal(map.range({ start: "/", end: "0" }).length, 20);
    assert.equal(map.get(keyOf(5000)), 5000);
  });

  it("does not modify the arrays that it has shared", () => {
    const map = new SortedMap<number>();
    const keyOf = (number: number): string => `/${String(number).padStart(4, "0")}`;
    const all = { start: "/", end: "0" };
    const number = fc.nat(1000);
    fc.assert(
      fc.property(fc.array(fc.record({ number, isDelete: fc.boolean() }), { maxLength: 300 }), (changes) => {
        const [before, shared] = [map.range(all), map.share(all)];
        for (const [index, { number: changed, isDelete }] of changes.entries()) {
          if (isDelete) map.delete(keyOf(changed));
          else map.set(keyOf(changed), index);
        }
        assert.deepEqual(valuesOf(shared), before);
      }),
    );
    assert.ok(map.share(all).length > 1);
  });
});
