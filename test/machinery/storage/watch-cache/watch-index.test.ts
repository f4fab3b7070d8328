import { inKeyRange, prefixRange } from "../../../../src/machinery/storage/key-range.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { WatchIndex } from "../../../../src/machinery/storage/watch-cache/watch-index.ts";
import type { IndexedChange, WatchScope } from "../../../../src/machinery/storage/watch-cache/watch-index.ts";

type Thing = Readonly<Record<string, string>>;
type Scope = WatchScope<Thing>;

const whereFieldIs = (field: string, value: string): NonNullable<Scope["where"]> => ({
  field,
  value,
  valueOf: (thing) => thing[field] ?? "",
});

const oneKey = (key: string): Scope => ({ start: key, end: `${key}\0` });
const prefix = (start: string): Scope => prefixRange(start);

function visited(index: WatchIndex<Thing, Scope>, change: IndexedChange<Thing>): Scope[] {
  const watches: Scope[] = [];
  index.visit(change, (watch) => void watches.push(watch));
  return watches;
}

/** What the index replaces: a look at every watch. */
function isConcerned({ start, end, where }: Scope, { key, object, previous }: IndexedChange<Thing>): boolean {
  if (!inKeyRange({ start, end })(key)) return false;
  return where === undefined || [object, previous].some((thing) => thing && where.valueOf(thing) === where.value);
}

describe("an index of watches", () => {
  it("visits the same watches as a full scan, whatever was added and deleted before", () => {
    const key = fc.constantFrom(
      "/r/a",
      "/r/a/b",
      "/r/a/b/c",
      "/r/b/b",
      "/r/a/\u{1f600}",
      "/r/a/\ue000",
      "/s/a",
      "/r//a",
    );
    const thing = fc.record({ node: fc.constantFrom("", "n1", "n2"), phase: fc.constantFrom("on", "off") });
    const where = fc.constantFrom(
      undefined,
      whereFieldIs("node", "n1"),
      whereFieldIs("node", ""),
      whereFieldIs("phase", "on"),
      whereFieldIs("phase", "off"),
    );
    const range = fc.oneof(
      key.map(oneKey),
      key.map((path) => prefix(path.slice(0, path.lastIndexOf("/") + 1))),
      fc.record({ start: key, end: key }),
    );
    const scope = fc.tuple(range, where).map(([keys, required]): Scope => ({ ...keys, where: required }));
    const change = fc.record({
      key,
      object: fc.option(thing, { nil: undefined }),
      previous: fc.option(thing, { nil: undefined }),
    });
    fc.assert(
      fc.property(
        fc.array(fc.record({ scope, isDeleted: fc.boolean() }), { maxLength: 30 }),
        fc.array(change, { minLength: 1, maxLength: 10 }),
        (watches, changes) => {
          const index = new WatchIndex<Thing, Scope>();
          for (const watch of watches) index.add(watch.scope);
          for (const watch of watches) if (watch.isDeleted) assert.equal(index.delete(watch.scope), true);
          const kept = watches.filter(({ isDeleted }) => !isDeleted).map((watch) => watch.scope);
          assert.deepEqual(new Set(index), new Set(kept));
          for (const one of changes) {
            const found = visited(index, one);
            assert.equal(new Set(found).size, found.length);
            assert.deepEqual(new Set(found), new Set(kept.filter((watch) => isConcerned(watch, one))));
          }
        },
      ),
    );
  });

  it("visits one watch of 5,000 that watch one object each, or one node each", () => {
    const index = new WatchIndex<Thing, Scope>();
    for (let n = 0; n < 5000; n += 1) {
      index.add(oneKey(`/registry/leases/node-leases/n${n}`));
      index.add({ ...prefix("/registry/pods/"), where: whereFieldIs("spec.nodeName", `n${n}`) });
    }
    const none = { object: undefined, previous: undefined };
    assert.equal(visited(index, { ...none, key: "/registry/leases/node-leases/n7" }).length, 1);
    const pod = { "spec.nodeName": "n7" };
    assert.equal(visited(index, { key: "/registry/pods/default/web", object: pod, previous: pod }).length, 1);
  });

  it("keeps nothing of the watches that were deleted", () => {
    const index = new WatchIndex<Thing, Scope>();
    const watch = { ...prefix("/registry/pods/"), where: whereFieldIs("spec.nodeName", "n1") };
    index.add(watch);
    assert.equal(index.delete(watch), true);
    assert.equal(index.delete(watch), false);
    assert.equal(index.size, 0);
    const read = { key: "/registry/pods/a", object: {}, previous: undefined };
    assert.deepEqual(visited(index, read), []);
  });

  it("visits the watches of every value for an object that cannot be read", () => {
    const index = new WatchIndex<Thing, Scope>();
    const whereIsReadable = {
      field: "node",
      valueOf: (thing: Thing): string | undefined => {
        if (thing["secret"] !== undefined) throw new Error("unreadable");
        return thing["node"];
      },
    };
    const scopes = ["n1", "n2"].map((value) => ({ ...prefix("/r/"), where: { ...whereIsReadable, value } }));
    for (const scope of scopes) index.add(scope);
    assert.deepEqual(visited(index, { key: "/r/a", object: { secret: "" }, previous: { node: "n1" } }), scopes);
    assert.deepEqual(visited(index, { key: "/r/a", object: { node: "n2" }, previous: undefined }), scopes.slice(1));
  });
});
