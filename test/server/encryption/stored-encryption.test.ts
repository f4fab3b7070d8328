import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { derivedAesGcm } from "../../../src/machinery/storage/encryption/aes-gcm.ts";
import { EncryptedStore } from "../../../src/machinery/storage/encryption/encrypted-store.ts";
import { EncryptionRules } from "../../../src/machinery/storage/encryption/encryption-rules.ts";
import { identity } from "../../../src/machinery/storage/encryption/value-transformer.ts";
import { StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import type { Store, WriteRequest, WriteResult } from "../../../src/machinery/storage/store.ts";
import { objectsOf, rewriteStale, surveyEncryption } from "../../../src/server/encryption/stored-encryption.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const rules = new EncryptionRules({
  rules: [{ prefix: "/", transformers: [derivedAesGcm({ name: "key", secret: Buffer.alloc(32, 1) }), identity] }],
});
const encrypting = (stored: Store): EncryptedStore =>
  new EncryptedStore(stored, { current: () => rules, refreshed: () => rules, onReadable() {} });

const keyOf = (index: number): string => `/registry/secrets/default/secret-${index}`;

/** Plain values where they should be encrypted. */
async function putStale(stored: Store, { objects, bytes = 10 }: { readonly objects: number; readonly bytes?: number }) {
  const value = Buffer.from(JSON.stringify({ data: "x".repeat(bytes) }));
  const keys = Array.from({ length: objects }, (_, index) => keyOf(index));
  await Promise.all(keys.map((key) => stored.write({ key, value, expectedRevision: 0 })));
}

const running = { signal: new AbortController().signal, onProgress() {} };

/** A store that a test looks at, or changes, when a write begins. */
function watched(store: Store, write: (request: WriteRequest) => Promise<WriteResult>): Store {
  return new Proxy(store, {
    get(target, property) {
      if (property === "write") return write;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("the rewriting of stale objects", () => {
  it("writes a hundred objects in one transaction", async () => {
    const directory = temporaryFolder();
    let transactions = 0;
    const stored = new LmdbStore({
      directory,
      profile: "platform",
      onWritten: () => void (transactions += 1),
    });
    try {
      await putStale(stored, { objects: 250 });
      const store = encrypting(stored);
      transactions = 0;
      const report = await rewriteStale({ store, stored }, running);
      assert.deepEqual(report, { rewritten: 250, changedMeanwhile: 0, unreadable: 0 });
      assert.equal(transactions, 3);
      const survey = await surveyEncryption({ store, stored });
      assert.deepEqual([objectsOf(survey, "current"), objectsOf(survey, "stale")], [250, 0]);
    } finally {
      await stored.close();
    }
  });

  it("holds no more than a mebibyte of stored objects, and one object, at once", async () => {
    const stored = new MemoryStore();
    const bytes = 300 * 1024;
    await putStale(stored, { objects: 10, bytes });
    let [underWay, most] = [0, 0];
    const inner = encrypting(stored);
    const store = watched(inner, async (request) => {
      most = Math.max(most, (underWay += 1));
      const result = await inner.write(request);
      underWay -= 1;
      return result;
    });
    assert.equal((await rewriteStale({ store, stored }, running)).rewritten, 10);
    assert.equal(most, 4);
  });

  it("leaves what others have changed meanwhile, writes the rest, and counts both", async () => {
    const stored = new MemoryStore();
    await putStale(stored, { objects: 3 });
    const inner = encrypting(stored);
    const changed = Buffer.from('{"changed":true}');
    const store = watched(inner, async (request) => {
      if (request.key === keyOf(1)) {
        assert.ok((await inner.write({ ...request, value: changed })).isWritten);
      }
      return inner.write(request);
    });
    const report = await rewriteStale({ store, stored }, running);
    assert.deepEqual(report, { rewritten: 2, changedMeanwhile: 1, unreadable: 0 });
    const { entries } = await inner.range({ start: keyOf(1), end: `${keyOf(1)}\0` });
    assert.deepEqual(entries[0]?.value, changed);
  });

  it("ends with the failure of a write, after the writes beside it, and begins no other", async () => {
    const stored = new MemoryStore();
    await putStale(stored, { objects: 150 });
    const inner = encrypting(stored);
    const failure = new StoreUnavailable("the disk is full");
    let begun = 0;
    const store = watched(inner, async (request) => {
      begun += 1;
      if (begun === 1) throw failure;
      return inner.write(request);
    });
    await assert.rejects(rewriteStale({ store, stored }, running), failure);
    assert.equal(begun, 100);
    const survey = await surveyEncryption({ store: inner, stored });
    assert.deepEqual([objectsOf(survey, "current"), objectsOf(survey, "stale")], [99, 51]);
  });

  it("begins no page after it was ended", async () => {
    const stored = new MemoryStore();
    await putStale(stored, { objects: 150 });
    const ended = new AbortController();
    const onProgress = (): void => ended.abort(new Error("ended"));
    const store = encrypting(stored);
    await assert.rejects(rewriteStale({ store, stored }, { signal: ended.signal, onProgress }), /ended/);
    assert.equal(objectsOf(await surveyEncryption({ store, stored }), "stale"), 50);
  });
});

describe("the look at all objects", () => {
  for (const objects of [1, 150]) {
    it(`notices its end in a turn of the event loop, as of a signal, with ${objects} objects`, async () => {
      const stored = new MemoryStore();
      await putStale(stored, { objects });
      const ended = new AbortController();
      let most = 0;
      const onProgress = (seen: number): void => {
        if (seen === 1) setImmediate(() => ended.abort(new Error("ended")));
        most = seen;
      };
      const looking = surveyEncryption({ store: encrypting(stored), stored }, { signal: ended.signal, onProgress });
      await assert.rejects(looking, /ended/);
      assert.equal(most, Math.min(objects, 100));
    });
  }
});
