import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { SqliteLock } from "../../../../src/machinery/files/locks/sqlite-lock.ts";
import { storedProfile } from "../../../../src/machinery/storage/backends/lmdb-environment.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { OpeningLock } from "../../../../src/machinery/storage/backends/opening-lock.ts";
import { put } from "../store-contract.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const value = Buffer.from("1");
const opener = join(import.meta.dirname, "../../../reliability/openings/store-opener.ts");

/** A process that ends as soon as the lock cannot be shared any more: somebody waits for it. */
const untilRefused = `
import { SqliteLock } from "${import.meta.resolve("../../../../src/machinery/files/locks/sqlite-lock.ts")}";
for (const lock = new SqliteLock(process.argv[1]); lock.lockShared(); lock.unlock())
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);`;

describe("the lock between commits and openings of a store", () => {
  let directory: string;
  /** As another process has the lock. */
  let other: SqliteLock;
  const file = (): string => join(directory, "opening.lock");
  beforeEach(() => {
    directory = temporaryFolder();
    other = new SqliteLock(file());
  });
  afterEach(() => other.release());

  async function isWaiting(work: Promise<unknown>): Promise<boolean> {
    let isDone = false;
    work.finally(() => (isDone = true)).catch(() => {});
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    return !isDone;
  }

  for (const [name, write] of Object.entries<(store: LmdbStore) => Promise<unknown>>({
    "a write": (store) => store.write({ key: "/b", value, expectedRevision: 0 }),
    "a delete": (store) => store.write({ key: "/a", value: undefined, expectedRevision: 2 }),
    "a transaction": (store) => store.writeTogether([{ key: "/b", value, expectedRevision: 0 }]),
    "a compaction": (store) => store.compact(2),
  })) {
    it(`lets ${name} wait while another process opens the store`, async () => {
      const store = new LmdbStore({ directory, profile: "platform" });
      await put(store, "/a", "1");
      // The lock of the write is given back soon.
      while (!other.lockExclusive({ waitMilliseconds: 0 })) await nextTurn();
      const written = write(store);
      assert.ok(await isWaiting(written));
      other.unlock();
      await written;
      await store.close();
    });
  }

  it("lets an opening wait for running commits, and later commits wait for the opening", async () => {
    await new LmdbStore({ directory, profile: "platform" }).close();
    const lock = new OpeningLock(file());
    const running = Promise.withResolvers<void>();
    const first = lock.commit(() => running.promise);
    const child = spawn(process.execPath, [opener, directory, "1"], { stdio: "inherit" });
    const ended = once(child, "exit");
    assert.deepEqual(
      await once(spawn(process.execPath, ["--input-type=module", "--eval", untilRefused, file()]), "exit"),
      [0, null],
    );
    assert.equal(child.exitCode, null);
    const second = lock.commit(async () => "written");
    running.resolve();
    await first;
    assert.equal(await second, "written");
    assert.deepEqual(await ended, [0, null]);
    lock.release();
  });

  it("bounds how long a commit waits for a process that is suspended while it opens the store", async () => {
    const lock = new OpeningLock(file(), { waitMilliseconds: 0 });
    assert.ok(other.lockExclusive({ waitMilliseconds: 0 }));
    await assert.rejects(
      lock.commit(async () => assert.fail("another process opens the store")),
      /other processes have written to the store, or opened it, for 0 seconds; end those that hang/,
    );
    other.unlock();
    assert.equal(await lock.commit(async () => "written"), "written");
    lock.release();
  });

  it("lets a close wait for the commits of others", async () => {
    const store = new LmdbStore({ directory, profile: "platform" });
    assert.ok(other.lockShared());
    const closed = store.close();
    assert.ok(await isWaiting(closed));
    other.unlock();
    await closed;
  });

  it("does not block a process that opens a store which it has open already", async () => {
    const [one, two] = [0, 1].map(() => new LmdbStore({ directory, profile: "platform" }));
    assert.ok(one !== undefined && two !== undefined);
    const revision = await put(one, "/a", "1");
    assert.equal(two.latestRevision(), revision);
    assert.equal(storedProfile(directory), "platform");
    assert.throws(() => new LmdbStore({ directory, profile: "kubernetes" }), /not kubernetes/);
    await one.close();
    await put(two, "/a", "2");
    const closed = two.close();
    const meanwhile = new LmdbStore({ directory, profile: "platform" });
    await closed;
    assert.equal(meanwhile.latestRevision(), revision + 1);
    await meanwhile.close();
    const again = new LmdbStore({ directory, profile: "platform" });
    assert.equal(again.latestRevision(), revision + 1);
    await again.close();
  });

  it("leaves LMDB its own locks", { skip: !existsSync("/proc/locks") }, async () => {
    const locks = (): string[] => {
      const { ino } = statSync(join(directory, "store.mdb-lock"));
      return readFileSync("/proc/locks", "utf8")
        .split("\n")
        .filter((line) => line.includes(`:${ino} `) && line.includes(` ${process.pid} `));
    };
    const one = new LmdbStore({ directory, profile: "platform" });
    one.latestRevision();
    const held = locks().length;
    assert.ok(held > 0);
    const two = new LmdbStore({ directory, profile: "platform" });
    assert.equal(storedProfile(directory), "platform");
    await two.close();
    assert.equal(locks().length, held);
    await one.close();
    assert.equal(locks().length, 0);
  });
});
