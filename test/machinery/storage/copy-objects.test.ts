import assert from "node:assert/strict";
import { test } from "node:test";
import { createObjects } from "../../../src/machinery/storage/copy-objects.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";

test("a write that fails while more objects are read is reported, and does not end the process", async () => {
  const store = new MemoryStore();
  const full = new Error("the disk is full");
  store.write = () => Promise.reject(full);
  async function* objects() {
    yield { key: "/registry/a", value: Buffer.from("{}") };
    // A process ends by a rejection that nobody has handled when the event loop turns.
    await new Promise(setImmediate);
    yield { key: "/registry/b", value: Buffer.from("{}") };
  }
  await assert.rejects(createObjects(store, objects()), full);
});
