import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { ShiftedStore } from "../../../src/machinery/storage/backends/shifted.ts";
import { RevisionCompacted, RevisionInFuture } from "../../../src/machinery/storage/store.ts";
import { everyKey } from "../../../src/machinery/storage/key-range.ts";
import { put, takeChanges, testStore } from "./store-contract.ts";

// Up and down again: the revisions are those that the contract names.
testStore("shifted", async () => {
  const store = new ShiftedStore(new ShiftedStore(new MemoryStore(), 1000), -1000);
  return { store, dispose: () => store.close() };
});

describe("a shifted store", () => {
  it("reports every earlier revision as compacted", async () => {
    const store = new ShiftedStore(new MemoryStore(), 1000);
    assert.equal(await put(store, "/a", "1"), 1002);
    await assert.rejects(store.range({ start: "/", end: "0", revision: 999 }), RevisionCompacted);
    await assert.rejects(takeChanges(store, { afterRevision: 999, count: 1 }), RevisionCompacted);
  });

  it("says in its own revisions which ones can be read", async () => {
    const store = new ShiftedStore(new MemoryStore(), 1000);
    for (const value of ["1", "2", "3"]) await put(store, "/a", value);
    await store.compact(1003);
    await assert.rejects(store.range({ ...everyKey, revision: 1002 }), new RevisionCompacted(1003));
    await assert.rejects(store.range({ ...everyKey, revision: 1005 }), new RevisionInFuture(1004));
  });

  it("refuses a write that expects an earlier revision as a conflict", async () => {
    const store = new ShiftedStore(new MemoryStore(), 1000);
    await put(store, "/a", "1");
    const result = await store.write({ key: "/a", value: Buffer.from("2"), expectedRevision: 7 });
    assert.deepEqual(result, {
      isWritten: false,
      current: { key: "/a", value: Buffer.from("1"), createRevision: 1002, modRevision: 1002 },
    });
    assert.equal((await store.write({ key: "/b", value: Buffer.from("2"), expectedRevision: 7 })).isWritten, false);
    const created = { key: "/c", value: Buffer.from("2"), expectedRevision: 0 };
    const together = await store.writeTogether([created, { ...created, key: "/a", expectedRevision: 7 }]);
    assert.deepEqual(together, [{ isWritten: false, current: undefined }, result]);
  });
});
