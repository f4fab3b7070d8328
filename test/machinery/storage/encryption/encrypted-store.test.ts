import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { aesGcm, derivedAesGcm } from "../../../../src/machinery/storage/encryption/aes-gcm.ts";
import { EncryptedStore } from "../../../../src/machinery/storage/encryption/encrypted-store.ts";
import type { EncryptionSource } from "../../../../src/machinery/storage/encryption/encrypted-store.ts";
import { EncryptionRules } from "../../../../src/machinery/storage/encryption/encryption-rules.ts";
import { identity, UndecryptableValue } from "../../../../src/machinery/storage/encryption/value-transformer.ts";
import type { ValueTransformer } from "../../../../src/machinery/storage/encryption/value-transformer.ts";
import { RevisionCompacted, StoreUnavailable } from "../../../../src/machinery/storage/store.ts";
import type { Change, Store } from "../../../../src/machinery/storage/store.ts";
import { takeTurnForEachLook, turnsDuring } from "../../../turns-during.ts";
import { put, takeChanges, testStore } from "../store-contract.ts";

const key = { name: "key1", secret: Buffer.alloc(32, 1) };
const otherKey = { name: "key2", secret: Buffer.alloc(32, 2) };
const everything = "/";
const plain = Buffer.from('{"metadata":{"name":"one"}}');

/** Rules that a test changes. */
class ChangedSource implements EncryptionSource {
  #rules: EncryptionRules;
  /** What a look at the file finds. */
  next: EncryptionRules | undefined;
  readonly #listeners: (() => void)[] = [];

  constructor(...transformers: ValueTransformer[]) {
    this.#rules = rulesOf(...transformers);
  }

  current(): EncryptionRules {
    return this.#rules;
  }

  refreshed(): EncryptionRules {
    if (this.next !== undefined) this.#rules = this.next;
    return this.#rules;
  }

  onReadable(listener: () => void): void {
    this.#listeners.push(listener);
  }

  tellReadable(): void {
    for (const listener of this.#listeners) listener();
  }
}

const rulesOf = (...transformers: ValueTransformer[]): EncryptionRules =>
  new EncryptionRules({ rules: [{ prefix: everything, transformers }] });

const encrypting = (store: Store, ...transformers: ValueTransformer[]): EncryptedStore =>
  new EncryptedStore(store, new ChangedSource(...transformers));

/** Answers in a later turn, as a KMS does. */
const later = (transformer: ValueTransformer): ValueTransformer => ({
  prefix: transformer.prefix,
  encrypt: async (value, storageKey) => transformer.encrypt(value, storageKey),
  async decrypt(stored, storageKey) {
    for (let turns = randomBytes(1)[0] ?? 0; turns > 200; turns -= 1) await Promise.resolve();
    return transformer.decrypt(stored, storageKey);
  },
});

/** Reads with a KMS that a test takes away. */
const sourceWith = (kms: { isAway: boolean }): ChangedSource =>
  new ChangedSource({
    ...derivedAesGcm(key),
    decrypt(stored, storageKey) {
      if (kms.isAway) throw new UndecryptableValue("the KMS is away");
      return derivedAesGcm(key).decrypt(stored, storageKey);
    },
  });

testStore("encrypted", async () => {
  const store = encrypting(new MemoryStore(), derivedAesGcm(key));
  return { store, dispose: () => store.close() };
});
testStore("encrypted (by something that answers later)", async () => {
  const store = encrypting(new MemoryStore(), later(derivedAesGcm(key)));
  return { store, dispose: () => store.close() };
});

describe("an encrypted store", () => {
  const entryOf = async (store: Store, storageKey: string) =>
    (await store.range({ start: storageKey, end: `${storageKey}\0` })).entries[0] ?? assert.fail();

  it("lets others run between the values that it decrypts", async (t) => {
    const store = encrypting(new MemoryStore(), derivedAesGcm(key));
    for (const name of ["a", "b", "c"]) await put(store, `/${name}`, plain.toString());
    takeTurnForEachLook(t);
    const turns = await turnsDuring(async () => {
      assert.equal((await store.range({ start: "/", end: "0" })).entries.length, 3);
    });
    assert.ok(turns >= 3, String(turns));
  });

  it("writes with the first provider, reads with all, and reports which values another one has written", async () => {
    const inner = new MemoryStore();
    await put(inner, "/plain", plain.toString());
    await put(encrypting(inner, aesGcm(key)), "/old", plain.toString());
    const store = encrypting(inner, derivedAesGcm(otherKey), aesGcm(key), identity);
    await put(store, "/new", plain.toString());
    assert.match((await entryOf(inner, "/new")).value.toString("latin1"), /^signet:enc:aesgcmderived:v1:key2:/);
    for (const [storageKey, isStale] of [
      ["/plain", true],
      ["/old", true],
      ["/new", undefined],
    ] as const) {
      const entry = await entryOf(store, storageKey);
      assert.deepEqual(entry.value, plain);
      assert.equal(entry.isStale, isStale);
    }
  });

  it("shows a value that was moved, cut, changed or written with another key as unreadable, and the others as they are", async () => {
    const inner = new MemoryStore();
    const store = encrypting(inner, derivedAesGcm(key));
    await put(store, "/good", plain.toString());
    const stored = (await entryOf(inner, "/good")).value;
    const damaged: Record<string, [Buffer, RegExp]> = {
      "/moved": [stored, /moved/],
      "/cut": [stored.subarray(0, 60), /too short/],
      "/changed": [Buffer.concat([stored.subarray(0, -1), Buffer.of((stored.at(-1) ?? 0) ^ 1)]), /changed/],
      "/unknown": [Buffer.from("k8s:enc:aesgcm:v1:gone:xxxx"), /no matching prefix/],
      "/plain": [plain, /no matching prefix/],
    };
    for (const [storageKey, [value]] of Object.entries(damaged)) {
      await inner.write({ key: storageKey, value, expectedRevision: 0 });
    }
    const wrongKey = await encrypting(inner, derivedAesGcm({ ...key, secret: otherKey.secret })).range({
      start: "/good",
      end: "/good\0",
    });
    assert.match(wrongKey.entries[0]?.unreadable ?? "", /another key/);
    for (const [storageKey, [, reason]] of Object.entries(damaged)) {
      const entry = await entryOf(store, storageKey);
      assert.match(entry.unreadable ?? "", reason, storageKey);
      assert.equal(entry.value.length, 0);
    }
    assert.deepEqual((await entryOf(store, "/good")).value, plain);
    const changes = await takeChanges(store, { afterRevision: 1, count: 1 + Object.keys(damaged).length });
    assert.equal(changes.filter(({ unreadable }) => unreadable !== undefined).length, Object.keys(damaged).length);
  });

  it("leaves values of kinds without a rule as they are, and shows what was encrypted there as unreadable", async () => {
    const inner = new MemoryStore();
    const source = new ChangedSource();
    const rules = ["/secrets/", "/tokens/"].map((prefix) => ({ prefix, transformers: [derivedAesGcm(key), identity] }));
    source.next = new EncryptionRules({ rules });
    source.refreshed();
    const store = new EncryptedStore(inner, source);
    await put(store, "/other/a", plain.toString());
    for (const [storageKey, isStale] of [
      ["/secrets/a", true],
      ["/tokens/a", true],
      ["/others/a", false],
    ] as const) {
      await put(inner, storageKey, plain.toString());
      assert.equal(await store.isStale(storageKey), isStale, storageKey);
    }
    const entry = await entryOf(inner, "/other/a");
    assert.deepEqual(entry.value, plain);
    assert.equal((await entryOf(store, "/other/a")).value, entry.value);
    const write = encrypting(inner, derivedAesGcm(otherKey));
    await put(write, "/other/left", plain.toString());
    assert.match(
      (await entryOf(store, "/other/left")).unreadable ?? "",
      /aesgcmderived:v1:key2, which this server does not have/,
    );
  });

  it("decrypts values beside those of kinds without a rule, in one page and in one batch of changes", async () => {
    const source = new ChangedSource();
    source.next = new EncryptionRules({ rules: [{ prefix: "/secrets/", transformers: [derivedAesGcm(key)] }] });
    source.refreshed();
    const store = new EncryptedStore(new MemoryStore(), source);
    const changes = takeChanges(store, { afterRevision: 1, count: 2 });
    const written = { value: plain, expectedRevision: 0 };
    await store.writeTogether(["/configmaps/a", "/secrets/a"].map((storageKey) => ({ key: storageKey, ...written })));
    const { entries } = await store.range({ start: "/", end: "0" });
    for (const read of [entries, await changes])
      assert.deepEqual(
        read.map(({ value }) => value),
        [plain, plain],
      );
    await store.close();
  });

  it("looks for a newer key before it reports a value as unreadable, and before it writes", async () => {
    const inner = new MemoryStore();
    await put(encrypting(inner, derivedAesGcm(otherKey)), "/a", plain.toString());
    const source = new ChangedSource(derivedAesGcm(key));
    source.next = rulesOf(derivedAesGcm(otherKey), derivedAesGcm(key));
    const store = new EncryptedStore(inner, source);
    assert.deepEqual((await entryOf(store, "/a")).value, plain);
    source.next = rulesOf(derivedAesGcm(key), derivedAesGcm(otherKey));
    await put(store, "/b", plain.toString());
    assert.match((await entryOf(inner, "/b")).value.toString("latin1"), /:key1:/);
  });

  it("writes nothing when it can't encrypt", async () => {
    const inner = new MemoryStore();
    const encrypt = (): never => {
      throw new Error("the KMS is away");
    };
    const store = encrypting(inner, { ...derivedAesGcm(key), encrypt });
    await assert.rejects(
      store.write({ key: "/a", value: plain, expectedRevision: 0 }),
      (error) => error instanceof StoreUnavailable && /the KMS is away/.test(error.message),
    );
    assert.equal(inner.latestRevision(), 1);
  });

  it("resolves writes, alone and together, once the watches have them, however long the KMS takes", async () => {
    const cipher = derivedAesGcm(key);
    const { promise: answer, resolve: letAnswer } = Promise.withResolvers<void>();
    const store = encrypting(new MemoryStore(), {
      ...cipher,
      decrypt: async (stored, storageKey) => answer.then(() => cipher.decrypt(stored, storageKey)),
    });
    const seen = new Set<string>();
    store.watch({
      afterRevision: 1,
      onChanges: (changes) => changes.forEach((change) => seen.add(change.key)),
      onEnd: assert.fail,
    });
    const alone = put(store, "/alone", plain.toString()).then(() => seen.has("/alone"));
    const together = store
      .writeTogether([{ key: "/together", value: plain, expectedRevision: 0 }])
      .then(() => seen.has("/together"));
    await setImmediate();
    letAnswer();
    assert.deepEqual(await Promise.all([alone, together]), [true, true]);
  });

  it("lets followers load everything again once unreadable values may be readable", async () => {
    const inner = new MemoryStore();
    await put(encrypting(inner, derivedAesGcm(key)), "/a", plain.toString());
    const kms = { isAway: true };
    const source = sourceWith(kms);
    const store = new EncryptedStore(inner, source);
    const seen: Change[] = [];
    const { promise, resolve } = Promise.withResolvers<Error>();
    const { promise: first, resolve: seenFirst } = Promise.withResolvers<void>();
    store.watch({
      afterRevision: 1,
      onChanges: (changes) => {
        seen.push(...changes);
        seenFirst();
      },
      onEnd: resolve,
    });
    await first;
    assert.equal(seen[0]?.unreadable, "the KMS is away");
    kms.isAway = false;
    source.tellReadable();
    assert.ok((await promise) instanceof RevisionCompacted);
    assert.deepEqual((await entryOf(store, "/a")).value, plain);
  });

  it("ends the next watch when values became readable while there was none, because a load has read some already", async () => {
    const inner = new MemoryStore();
    const revision = await put(encrypting(inner, derivedAesGcm(key)), "/a", plain.toString());
    const kms = { isAway: true };
    const source = sourceWith(kms);
    const store = new EncryptedStore(inner, source);
    assert.equal((await entryOf(store, "/a")).unreadable, "the KMS is away");
    kms.isAway = false;
    source.tellReadable();
    const watch = (): Promise<Error> =>
      new Promise((resolve) =>
        store.watch({ afterRevision: revision, onChanges: () => assert.fail(), onEnd: resolve }),
      );
    assert.ok((await watch()) instanceof RevisionCompacted);
    const second = watch();
    await store.close();
    assert.ok((await second) instanceof StoreUnavailable, "only one watch is ended");
  });

  it("knows the size of the files of the store behind it", async () => {
    class SizedStore extends MemoryStore {
      async sizeBytes(): Promise<number> {
        return 4096;
      }
    }
    assert.equal(await encrypting(new SizedStore(), identity).sizeBytes(), 4096);
    assert.equal(await encrypting(new MemoryStore(), identity).sizeBytes(), undefined);
  });
});
