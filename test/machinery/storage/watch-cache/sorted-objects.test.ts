import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { SortedObjects } from "../../../../src/machinery/storage/watch-cache/sorted-objects.ts";
import { isBetween } from "../store-model.ts";

interface Version {
  readonly key: string;
  readonly revision: number;
}

const newObjects = () =>
  new SortedObjects<Version>({
    firstByte: 0,
    load: (key, revision) => ({ key, revision }),
    peek: (key, revision) => ({ key, revision }),
    revisionOf: ({ revision }) => revision,
    isTextEvicted: () => true,
  });

const key = fc.string({ unit: "grapheme", maxLength: 2 });
const change = fc.record({ key, act: fc.constantFrom("set", "setEvicted", "evict", "get", "delete") });

describe("objects that may be evicted", () => {
  it("are found as if they had never been evicted, and a snapshot shows those of its moment", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), fc.nat(40), key, key, (changes, moment, start, end) => {
        const objects = newObjects();
        const model = new Map<string, Version>();
        const inRange = (): Version[] =>
          [...model.values()]
            .filter((one) => isBetween({ key: one.key, start, end }))
            .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
        let then = { snapshot: objects.snapshot({ start, end }), expected: inRange() };
        for (const [index, { key: changed, act }] of changes.entries()) {
          if (index === moment) then = { snapshot: objects.snapshot({ start, end }), expected: inRange() };
          const version = { key: changed, revision: index + 1 };
          const known = objects.get(changed);
          if (act === "delete") assert.equal(objects.delete(changed), model.delete(changed));
          else if (act === "evict" && known !== undefined) objects.evict(known);
          else if (act === "set" || act === "setEvicted") {
            if (act === "set") objects.set(changed, version);
            else if (known === undefined) objects.setEvicted(changed, version.revision);
            if (act === "set" || known === undefined) model.set(changed, version);
          }
          assert.deepEqual(objects.peek(changed), model.get(changed));
        }
        assert.deepEqual(objects.range({ start, end }), inRange());
        assert.equal(objects.count({ start, end }), inRange().length);
        assert.deepEqual([...then.snapshot], then.expected);
        assert.equal(then.snapshot.length, then.expected.length);
      }),
    );
  });

  it("are not loaded for a snapshot before it is read", () => {
    const made: string[] = [];
    const objects = new SortedObjects<Version>({
      firstByte: 0,
      load: (name, revision) => ({ key: name, revision }),
      peek(name, revision) {
        made.push(name);
        return { key: name, revision };
      },
      revisionOf: ({ revision }) => revision,
      isTextEvicted: () => true,
    });
    for (const name of ["a", "b", "c"]) objects.setEvicted(name, 1);
    const snapshot = objects.snapshot({ start: "a", end: "z" });
    assert.deepEqual(made, []);
    const [first] = snapshot;
    assert.equal(first?.key, "a");
    assert.deepEqual(made, ["a"]);
  });
});
