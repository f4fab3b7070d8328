import assert from "node:assert/strict";
import { cpSync, readdirSync, renameSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { closeEnvironment, openEnvironment } from "../../../../src/machinery/storage/backends/lmdb-environment.ts";
import { commitFailure } from "../../../../src/machinery/storage/backends/lmdb-commit-failure.ts";
import { derivedAesGcm } from "../../../../src/machinery/storage/encryption/aes-gcm.ts";
import { EncryptedStore } from "../../../../src/machinery/storage/encryption/encrypted-store.ts";
import { EncryptionRules } from "../../../../src/machinery/storage/encryption/encryption-rules.ts";
import { StoreUnavailable, WriteAbandoned, WriteOutcomeUnknown } from "../../../../src/machinery/storage/store.ts";
import type { Store, WriteRequest } from "../../../../src/machinery/storage/store.ts";
import { put, takeChanges, testStore } from "../store-contract.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";
import { everyKey } from "../../../../src/machinery/storage/key-range.ts";

testStore("LMDB", async () => {
  const store = new LmdbStore({ directory: join(temporaryFolder(), "store"), profile: "platform" });
  return { store, dispose: () => store.close() };
});

describe("a directory of the LMDB store", () => {
  it("writes nothing for a caller that leaves in the turn in which it writes", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    const leaving = new AbortController();
    const request = { key: "/a", value: Buffer.of(1), expectedRevision: 0 };
    const write = store.write({ ...request, signal: leaving.signal });
    const refused = assert.rejects(write, WriteAbandoned);
    for (let steps = 0; steps < 10; steps += 1) await Promise.resolve(); // still the same turn
    leaving.abort();
    await refused;
    assert.equal(store.latestRevision(), 1);
    await store.close();
  });

  it("reads again what was written at a revision, until compaction removes it", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    const first = await put(store, "/a/1", "one");
    const second = await put(store, "/a/1", "two");
    const other = await put(store, "/a/2", "other");
    const deleted = await put(store, "/a/2", undefined);
    const texts = (): (string | undefined)[] =>
      [
        { key: "/a/1", revision: first },
        { key: "/a/1", revision: second },
        { key: "/a/2", revision: other },
        { key: "/a/2", revision: deleted },
        { key: "/a/2", revision: deleted + 1 },
      ].map((write) => store.valueAt(write)?.toString());
    assert.deepEqual(texts(), ["one", "two", "other", undefined, undefined]);
    await store.compact(deleted);
    assert.deepEqual(texts(), [undefined, "two", undefined, undefined, undefined]);
    await store.close();
    assert.throws(() => store.valueAt({ key: "/a/1", revision: second }), StoreUnavailable);
  });

  it("delivers a transaction whole though a reader has seen it before it is delivered", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    const before = store.latestRevision();
    const events: string[] = [];
    const watch = store.watch({
      afterRevision: before,
      onChanges: (changes) => events.push(changes.map(({ key }) => key).join()),
      onEnd: (error) => assert.fail(error),
    });
    await nextTurn(); // the watch has looked at the log
    const request = (key: string): WriteRequest => ({ key, value: Buffer.of(1), expectedRevision: 0 });
    const write = store.writeTogether([request("/a/1"), request("/a/2")]);
    await nextTurn(); // the store has given the writes to LMDB
    await nextTurn(); // LMDB's thread has begun
    await stat(directory); // as when a request comes over a connection: this turn of the event loop takes no more answers
    while (store.latestRevision() === before); // until that thread has written
    store.catchUp();
    await write;
    assert.deepEqual(events, ["/a/1,/a/2"], "the log tells of one change after the other");
    watch.stop();
    await store.close();
  });

  it("delivers what was written at once in turns, each transaction in one, before the writes resolve", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    const events: string[] = [];
    const watch = store.watch({
      afterRevision: store.latestRevision(),
      onChanges: (changes) => {
        events.push(changes.map(({ key }) => key).join());
        if (events.length === 1) {
          setImmediate(() => {
            events.push("others");
            store.catchUp();
          });
        }
        const now = performance.now();
        while (performance.now() - now < 10); // longer than a turn
      },
      onEnd: (error) => assert.fail(error),
    });
    const request = (key: string): WriteRequest => ({ key, value: Buffer.of(1), expectedRevision: 0 });
    const writes = [store.writeTogether([request("/a/1"), request("/a/2")]), store.write(request("/a/3"))];
    await Promise.all(writes.map((write) => write.then(() => events.push("resolved"))));
    watch.stop();
    await store.close();
    assert.deepEqual(events, ["/a/1,/a/2", "others", "/a/3", "resolved", "resolved"]);
  });

  it("reads heads without the values that are known to begin with a byte, and whole entries of all others", async () => {
    const directory = join(temporaryFolder(), "store");
    const leftOut = async (store: Store): Promise<Record<string, boolean>> => {
      const read = await store.rangeOfHeads?.({ ...everyKey, firstByte: 0x7b });
      return Object.fromEntries(read?.entries.map(({ key, value }) => [key, value === undefined]) ?? []);
    };
    const store = new LmdbStore({ directory, profile: "platform" });
    for (const key of ["/a/earlier", "/a/earliest", "/a/plain", "/b/plain"]) await put(store, key, "{}");
    await put(store, "/a/other", "other");
    const secret = derivedAesGcm({ name: "key", secret: Buffer.alloc(32, 1) });
    await store.write({
      key: "/a/encrypted",
      value: await secret.encrypt(Buffer.from("{}"), "/a/encrypted"),
      expectedRevision: 0,
    });
    await store.close();
    const environment = openEnvironment({ directory, profile: "platform" });
    for (const [name, head] of [
      ["/a/earliest", [1]],
      ["/a/earlier", [1, 0x7b, 0, 0, 0, 0, 0, 0]], // without the value's length
    ] as const) {
      const key = Buffer.from(name);
      await environment.heads.put(key, Buffer.from(head), environment.heads.getEntry(key)?.version ?? 0);
    }
    await closeEnvironment(environment);

    const again = new LmdbStore({ directory, profile: "platform" });
    const values = {
      "/a/earlier": false,
      "/a/earliest": false,
      "/a/encrypted": false,
      "/a/other": false,
      "/a/plain": true,
    };
    assert.deepEqual(await leftOut(again), { ...values, "/b/plain": true });
    const rules = new EncryptionRules({ rules: [{ prefix: "/b/", transformers: [secret] }], readers: [secret] });
    const encrypted = new EncryptedStore(again, { current: () => rules, refreshed: () => rules, onReadable() {} });
    // Where a rule is about some keys of the range, a plain value may have to be written in another form.
    assert.deepEqual(await leftOut(encrypted), { ...values, "/a/plain": false, "/b/plain": false });
    const ofA = await encrypted.rangeOfHeads?.({ start: "/a/", end: "/a0", firstByte: 0x7b });
    assert.deepEqual(
      ofA?.entries.map((entry) => entry.value?.toString()),
      ["{}", "{}", "{}", "other", undefined],
    );
    await again.close();
  });

  it("takes no write while one of its files is not the one that it has opened, and loses nothing", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    await put(store, "/a", "1");
    const elsewhere = `${directory}.elsewhere`;
    const isRefused = async (file: string): Promise<void> => {
      const write = store.write({ key: "/b", value: Buffer.from("1"), expectedRevision: 0 });
      const message = new RegExp(`${file} was removed or replaced while it is in use; stop all processes`);
      await assert.rejects(write, (error: Error) => error instanceof StoreUnavailable && message.test(error.message));
    };
    for (const name of ["store.mdb", "store.mdb-lock", "opening.lock"]) {
      const file = join(directory, name);
      renameSync(file, elsewhere);
      await isRefused(name);
      cpSync(elsewhere, file);
      await isRefused(name);
      renameSync(elsewhere, file);
    }
    renameSync(directory, elsewhere);
    await isRefused("store.mdb");
    await assert.rejects(store.compact(store.latestRevision()), StoreUnavailable);
    renameSync(elsewhere, directory);
    await put(store, "/b", "2");
    await store.close();
  });

  it("is broken when LMDB refuses everything: the outcome of the write is unknown, and its opener is told", async () => {
    const directory = join(temporaryFolder(), "store");
    const broken: Error[] = [];
    const environment = openEnvironment({ directory, profile: "platform", onBroken: (error) => broken.push(error) });
    const failed = await commitFailure(environment, new Error("no space"));
    assert.deepEqual([failed instanceof WriteOutcomeUnknown, broken], [false, []]);
    const panics = {
      getBinaryFast: () => {
        throw new Error("Invalid argument: MDB_PANIC: Update of meta page failed or environment had fatal error");
      },
    };
    const unknown = await commitFailure({ ...environment, meta: panics }, new Error("Input/output error"));
    assert.ok(unknown instanceof WriteOutcomeUnknown);
    assert.equal(unknown.message, "the store can't be used until the process is restarted: Input/output error");
    assert.deepEqual(broken, [unknown]);
    await closeEnvironment(environment);
  });

  it("says what to do where the system refuses to write, and nothing about pages", async () => {
    const directory = join(temporaryFolder(), "store");
    const environment = openEnvironment({ directory, profile: "platform" });
    const { EIO, ENOSPC, EROFS, EDQUOT, EFBIG } = constants.errno;
    const refusals = [
      Object.assign(new Error("Read-only file system: Attempting to write page at position 20480"), { code: EROFS }),
      Object.assign(new Error("EROFS: read-only file system, open 'store/room-1'"), { code: "EROFS", errno: -EROFS }),
      Object.assign(new Error("Disk quota exceeded: Attempting to write page at position 20480"), { code: EDQUOT }),
      Object.assign(new Error("Input/output error: Attempting to write page at position 20480"), { code: EIO }),
      Object.assign(new Error("No space left on device: Attempting to write page at position 20480"), {
        code: ENOSPC,
      }),
      Object.assign(new Error("File too large: Attempting to write page at position 20480"), { code: EFBIG }),
      Object.assign(new Error("MDB_BAD_TXN: Transaction must abort"), { code: -30_782 }),
      Object.assign(new Error("MDB_MAP_FULL: Environment mapsize limit reached"), { code: -30_792 }),
    ];
    const messages = [];
    for (const refusal of refusals) messages.push((await commitFailure(environment, refusal)).message);
    const readOnly = "the store can't be written: the file system is read-only; mount it for writing";
    assert.deepEqual(messages, [
      readOnly,
      readOnly,
      "the store can't be written: the user's disk quota is used up; make room",
      "the store can't be written: the disk fails, or a quota is used up (i/o error)",
      "the store can't be written: no space is left on the server's disk; make room",
      "the store can't be written: no file may be so large there (ulimit -f), or the store is damaged: signet doctor looks for that",
      "the store can't be written: signet doctor looks for damage of the store (MDB_BAD_TXN: Transaction must abort)",
      "the store can't be written: MDB_MAP_FULL: Environment mapsize limit reached",
    ]);
    await closeEnvironment(environment);
  });

  it("gives a watch that lags no more than a few MiB in a turn", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    const value = Buffer.alloc(2 ** 20);
    for (let index = 0; index < 12; index++) await store.write({ key: `/a/${index}`, value, expectedRevision: 0 });
    const inTurns: number[] = [];
    let inTurn = 0;
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const watch = store.watch({
      afterRevision: 1,
      onChanges: (changes) => {
        inTurn += changes.length;
        setImmediate(() => {
          if (inTurn > 0) inTurns.push(inTurn);
          inTurn = 0;
          if (changes.some(({ revision }) => revision === 13)) resolve();
        });
      },
      onEnd: assert.ifError,
    });
    await all;
    watch.stop();
    assert.equal(
      inTurns.reduce((sum, one) => sum + one),
      12,
    );
    assert.ok(Math.max(...inTurns) <= 4, String(inTurns));
    await store.close();
  });

  it("keeps entries, revisions and history over a restart", async () => {
    const directory = join(temporaryFolder(), "store");
    const first = new LmdbStore({ directory, profile: "platform" });
    await put(first, "/a", "1");
    await put(first, "/b", "1");
    const deleted = await put(first, "/a", undefined);
    await first.compact(2);
    await first.close();

    const second = new LmdbStore({ directory, profile: "platform" });
    assert.equal(second.latestRevision(), deleted);
    assert.equal(second.compactedRevision(), 2);
    assert.deepEqual(
      (await second.range(everyKey)).entries.map(({ key }) => key),
      ["/b"],
    );
    const changes = await takeChanges(second, { afterRevision: 2, count: 2 });
    assert.deepEqual(
      changes.map(({ revision, key, value }) => [revision, key, value?.toString()]),
      [
        [3, "/b", "1"],
        [4, "/a", undefined],
      ],
    );
    await second.close();
  });

  it("is for its owner's eyes only", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    await put(store, "/a", "1");
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    for (const file of readdirSync(directory)) assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600);
    await store.close();
  });

  it("belongs to one naming profile", async () => {
    const directory = join(temporaryFolder(), "store");
    await new LmdbStore({ directory, profile: "platform" }).close();
    assert.throws(
      () => new LmdbStore({ directory, profile: "kubernetes" }),
      /has the names of the profile platform, not kubernetes: start with --profile platform, or with another --/,
    );
    await new LmdbStore({ directory, profile: "platform" }).close();
  });

  it("gives the space of forgotten history back to new writes", async () => {
    const directory = join(temporaryFolder(), "store");
    const store = new LmdbStore({ directory, profile: "platform" });
    const value = "v".repeat(2000);
    const writeAll = async (): Promise<void> => {
      for (let round = 0; round < 20; round++) {
        await Promise.all(Array.from({ length: 50 }, (_, index) => put(store, `/key-${index}`, `${value}${round}`)));
      }
      await store.compact(store.latestRevision());
    };
    await writeAll();
    await writeAll();
    const bytes = statSync(join(directory, "store.mdb")).size;
    await writeAll();
    assert.ok(statSync(join(directory, "store.mdb")).size <= bytes * 1.1);
    await store.close();
  });
});
