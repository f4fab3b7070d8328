import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Caller } from "../../../src/machinery/registry/caller.ts";
import { createObject } from "../../../src/machinery/registry/writes/create-object.ts";
import { StorageQuota } from "../../../src/machinery/registry/storage-quota.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { WriteAbandoned } from "../../../src/machinery/storage/store.ts";
import type { WatchRequest, WriteRequest } from "../../../src/machinery/storage/store.ts";
import { apiError, toyRegistry } from "./toy-resource.ts";

/** Tells of its writes when a test says so, as etcd does later than it answers them. */
class LateStore extends MemoryStore {
  #untold: (() => void)[] = [];
  isFull = false;

  override watch({ onChanges, ...request }: WatchRequest): { stop(): void } {
    return super.watch({ ...request, onChanges: (changes) => void this.#untold.push(() => onChanges(changes)) });
  }

  override async write(request: WriteRequest): ReturnType<MemoryStore["write"]> {
    if (this.isFull) throw new WriteAbandoned();
    return super.write(request);
  }

  tell(): void {
    for (const news of this.#untold.splice(0)) news();
  }
}

/** Creates toys of about 400 bytes in a namespace that may hold 1,000. */
async function bounded() {
  const store = new LateStore();
  const quota = new StorageQuota({ maximumBytes: 1000, isExempt: () => false, onExceeded: () => {} });
  const registry = toyRegistry({ store, quota });
  await registry.start();
  const caller: Caller = {
    user: { username: "child", groups: [], extra: {} },
    isDryRun: false,
    signal: new AbortController().signal,
    warn: () => {},
  };
  const add = (name: string) =>
    createObject(registry, {
      object: { apiVersion: registry.apiVersion, kind: "Toy", metadata: { name }, color: "c".repeat(100) },
      namespace: "box",
      manager: "test",
      caller,
    });
  return { store, registry, add };
}

const refused = apiError(403, "exceeded quota");

describe("a namespace that may hold so much", () => {
  it("holds no more before the store has told of the writes, and has each of them once", async () => {
    const { store, registry, add } = await bounded();
    await add("one");
    await add("two");
    await assert.rejects(add("three"), refused);
    const bytes = registry.cache.sizes?.of("box");
    store.tell();
    await assert.rejects(add("three"), refused);
    assert.equal(registry.cache.sizes?.of("box"), bytes);
  });

  it("has room for others after a write that failed or lost a race", async () => {
    const { store, add } = await bounded();
    await add("one");
    await assert.rejects(add("one"), apiError(409, "already exists"));
    store.isFull = true;
    await assert.rejects(add("two"), apiError(504, ""));
    store.isFull = false;
    store.tell();
    await add("two");
    store.tell();
    await assert.rejects(add("three"), refused);
  });
});
