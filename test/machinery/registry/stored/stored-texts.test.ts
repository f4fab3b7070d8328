import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import * as fc from "fast-check";
import { encodeStored } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { StoredTexts } from "../../../../src/machinery/registry/stored/stored-texts.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { derivedAesGcm } from "../../../../src/machinery/storage/encryption/aes-gcm.ts";
import { EncryptedStore } from "../../../../src/machinery/storage/encryption/encrypted-store.ts";
import { EncryptionRules } from "../../../../src/machinery/storage/encryption/encryption-rules.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";
import { apiError, toyRegistry } from "../toy-resource.ts";
import type { Toy } from "../toy-resource.ts";
import { collectGarbage } from "../../../collect-garbage.ts";

const keyOf = (name: string): string => `/registry/toys.toys.example.com/box/${name}`;
const nameOf = (n: number): string => `toy-${String(n).padStart(6, "0")}`;
function valueOf(name: string, color: string): Buffer {
  const toy: Toy = { kind: "Toy", apiVersion: "toys.example.com/v1", metadata: { name, namespace: "box" }, color };
  return encodeStored(toy);
}

describe("the texts of objects that are in the store", async () => {
  const store = new LmdbStore({ directory: temporaryFolder(), profile: "platform" });
  after(() => store.close());
  let reads = 0;
  const texts = new StoredTexts({
    valueAt(write) {
      reads += 1;
      return store.valueAt(write);
    },
    maximumCharacters: 300,
  });
  const registry = toyRegistry({ store, historyLength: 100, texts });
  await registry.start();
  const revisions = new Map<string, number>();

  async function put(name: string, color: string | undefined): Promise<void> {
    const value = color === undefined ? undefined : valueOf(name, color);
    const written = await store.write({ key: keyOf(name), value, expectedRevision: revisions.get(name) ?? 0 });
    assert.ok(written.isWritten);
    if (value === undefined) revisions.delete(name);
    else revisions.set(name, written.revision);
  }
  const colorOf = (name: string): string | undefined => registry.peek({ namespace: "box", name })?.object.color;

  it("are read again from the store, whatever was written since", async () => {
    const write = fc.record({ n: fc.nat(12), color: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }) });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 20 }), async (writes) => {
        const colors = new Map<string, string>();
        for (const name of revisions.keys()) colors.set(name, colorOf(name) ?? "");
        for (const { n, color } of writes) {
          const name = nameOf(n);
          if (color === undefined && !colors.has(name)) continue;
          await put(name, color);
          if (color === undefined) colors.delete(name);
          else colors.set(name, color);
        }
        for (let n = 0; n <= 12; n += 1) assert.equal(colorOf(nameOf(n)), colors.get(nameOf(n)));
      }),
      { numRuns: 30 },
    );
    assert.ok(reads > 0);
  });

  it("are kept in memory when the store forgets them: in the history, and by readers that still have the object", async () => {
    await put("old", "red");
    for (let n = 20; n < 30; n += 1) await put(nameOf(n), "blue");
    const held = registry.peek({ namespace: "box", name: "old" });
    const { revision } = registry.cache;
    await put("old", "green");
    await put("old", undefined);
    await store.compact(store.latestRevision());
    assert.equal(held && store.valueAt(held), undefined);
    assert.equal(held?.object.color, "red");
    const heard: string[] = [];
    const watch = registry.cache.watch({
      start: keyOf("old"),
      end: keyOf("old\0"),
      afterRevision: revision,
      onEvent: ({ previous }) => void heard.push(previous?.object.color ?? ""),
      onEnd: () => assert.fail(),
    });
    watch.stop();
    assert.deepEqual(heard, ["red", "green"]);
  });

  it("lead to a 503 when the store no longer has them", async () => {
    await put("lost", "red");
    const revision = revisions.get("lost") ?? 0;
    const lost = toyRegistry({
      store,
      texts: new StoredTexts({ valueAt: () => undefined, maximumCharacters: 0 }),
    });
    await lost.start();
    const stored = lost.peek({ namespace: "box", name: "lost" });
    assert.equal(stored?.revision, revision);
    assert.throws(() => stored?.text, apiError(503, "signet doctor"));
    assert.throws(() => stored?.labels, apiError(503, "try again"));
  });

  it("are kept in memory when the store has them encrypted", async () => {
    const transformers = [derivedAesGcm({ name: "key", secret: Buffer.alloc(32, 1) })];
    const rules = new EncryptionRules({ rules: [{ prefix: keyOf("secret-"), transformers }] });
    const encrypted = new EncryptedStore(store, { current: () => rules, refreshed: () => rules, onReadable() {} });
    const written = { value: valueOf("any", "red"), expectedRevision: 0 };
    await encrypted.write({ key: keyOf("secret-1"), ...written });
    await encrypted.write({ key: keyOf("plain-1"), ...written });
    const copy = toyRegistry({
      store: encrypted,
      texts: new StoredTexts({ valueAt: (write) => encrypted.valueAt?.(write), maximumCharacters: 0 }),
    });
    await copy.start();
    await encrypted.write({ key: keyOf("secret-2"), ...written });
    await encrypted.write({ key: keyOf("plain-2"), ...written });
    for (const name of ["secret-1", "secret-2", "plain-1", "plain-2"]) {
      assert.equal(copy.peek({ namespace: "box", name })?.object.color, "red", name);
    }
  });

  it("leave few bytes of an object in memory", async () => {
    const count = 10_000;
    for (let n = 0; n < count; n += 500) {
      const names = Array.from({ length: 500 }, (_, more) => nameOf(100_000 + n + more));
      await Promise.all(names.map((name) => put(name, "x".repeat(500))));
    }
    const feed = new ChangeFeed({ store, replayLength: 100 });
    const another = toyRegistry({ store, feed, texts });
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    await another.start();
    collectGarbage();
    const each = (process.memoryUsage().heapUsed - before) / count;
    assert.ok(each < 150, `${Math.round(each)} bytes of each object stay in memory`);
    assert.equal(another.peek({ namespace: "box", name: nameOf(100_000) })?.object.color?.length, 500);
  });
});
