import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs, { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { removeUnsafeLock } from "../../../../src/machinery/storage/backends/lmdb-files.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const storeModule = import.meta.resolve("../../../../src/machinery/storage/backends/lmdb.ts");
const lockIn = (directory: string): string => join(directory, "store.mdb-lock");
const isWithoutHoles = (file: string): boolean => {
  const { blocks, size } = statSync(file);
  return blocks * 512 >= size;
};

async function storeWithValues(directory: string): Promise<void> {
  const store = new LmdbStore({ directory, profile: "platform" });
  for (let index = 0; index < 20; index++) {
    await store.write({ key: `/a/${index}`, value: Buffer.alloc(5000), expectedRevision: 0 });
  }
  await store.close();
}

describe("the files of the embedded store", () => {
  it("need no more space on a full disk: the mapped lock file has no holes", async () => {
    const directory = temporaryFolder();
    await storeWithValues(directory);
    assert.ok(isWithoutHoles(lockIn(directory)));
    assert.deepEqual(readdirSync(directory).sort(), ["opening.lock", "store.mdb", "store.mdb-lock"]);
    for (const file of readdirSync(directory)) assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600);
  });

  it("are flushed with the folders that name them when the store is new, so that a power cut does not leave an empty folder", async (t) => {
    const parent = temporaryFolder();
    const flushed: number[] = [];
    t.mock.method(fs, "fsyncSync", (descriptor: number) => void flushed.push(fs.fstatSync(descriptor).ino));
    syncBuiltinESMExports();
    try {
      const directory = join(parent, "store");
      await storeWithValues(directory);
      assert.deepEqual(flushed, [statSync(directory).ino, statSync(parent).ino]);
      await new LmdbStore({ directory, profile: "platform" }).close();
      assert.equal(flushed.length, 2, "the folders of an older store are not flushed");
    } finally {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    }
  });

  it("get a new lock file in place of one with holes, which earlier versions made", async () => {
    const directory = temporaryFolder();
    await storeWithValues(directory);
    removeUnsafeLock(directory);
    assert.ok(readdirSync(directory).includes("store.mdb-lock"), "a whole one stays");
    rmSync(lockIn(directory));
    writeFileSync(lockIn(directory), "");
    truncateSync(lockIn(directory), 8272);
    removeUnsafeLock(directory);
    const store = new LmdbStore({ directory, profile: "platform" });
    assert.equal((await store.range({ start: "/a/", end: "/a0" })).entries.length, 20);
    await store.close();
    assert.ok(isWithoutHoles(lockIn(directory)));
  });

  it("are refused with an error when they are cut short or another program's, and never end the process by a signal", async () => {
    const whole = temporaryFolder();
    await storeWithValues(whole);
    const open = `import { LmdbStore } from "${storeModule}";
      try { new LmdbStore({ directory: process.argv[1], profile: "platform" }); } catch (error) { console.log(error.message); }`;
    const damages: readonly ((store: string) => void)[] = [
      ...[1, 100, 4096, 8191, 8192, 20_480].map((size) => (store: string) => truncateSync(store, size)),
      (store) => writeFileSync(store, Buffer.alloc(40_960, 0xa5)),
      (store) => writeFileSync(store, Buffer.alloc(40_960)),
      (store) => writeFileSync(store, "a text"),
    ];
    for (const damage of damages) {
      const directory = temporaryFolder();
      cpSync(whole, directory, { recursive: true });
      damage(join(directory, "store.mdb"));
      const words = ["--input-type=module", "--eval", open, directory];
      const { status, signal, stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
      assert.deepEqual([status, signal], [0, null], damage.toString());
      assert.match(stdout, /is damaged, or is not a Signet store/);
    }
  });

  const open = `
    import { closeSync, openSync } from "node:fs";
    import { LmdbStore } from "${storeModule}";
    const [directory, user, free] = process.argv.slice(1);
    if (process.getuid() === 0) process.setuid(Number(user));
    const descriptors = [];
    try { while (free !== undefined) descriptors.push(openSync("/dev/null")); } catch {}
    descriptors.splice(0, Number(free ?? 0)).forEach(closeSync);
    try { await new LmdbStore({ directory, profile: "platform" }).close(); console.log("opened"); }
    catch (error) { console.log(error.message); }`;
  type Opening = (...words: string[]) => { readonly signal: string | null; readonly stdout: string };
  const openingUnder =
    (limit: string): Opening =>
    (...words) =>
      spawnSync(
        "bash",
        ["-c", `ulimit ${limit}; exec "$0" "$@"`, process.execPath, "--input-type=module", "--eval", open, ...words],
        { encoding: "utf8" },
      );
  const opening = openingUnder("-n 256");

  it("are refused with an error when LMDB cannot open one of them, which would end the process by a signal", async () => {
    const whole = temporaryFolder();
    await storeWithValues(whole);
    const damages: readonly ((lock: string) => void)[] = [
      (lock) => chmodSync(lock, 0o400),
      (lock) => mkdirSync(lock),
      (lock) => void spawnSync("mkfifo", [lock]),
    ];
    for (const [index, damage] of damages.entries()) {
      const directory = temporaryFolder();
      cpSync(whole, directory, { recursive: true });
      if (index > 0) rmSync(lockIn(directory));
      damage(lockIn(directory));
      spawnSync("chown", ["-R", "65534", directory]);
      const { signal, stdout } = opening(directory, "65534");
      assert.equal(signal, null, damage.toString());
      assert.match(stdout, /store\.mdb-lock/);
    }
  });

  it("are refused with an error when the process may not have the address space to map them", async () => {
    const directory = temporaryFolder();
    await storeWithValues(directory);
    for (const gibibytes of [16, 64]) {
      const { signal, stdout } = openingUnder(`-v ${gibibytes * 2 ** 20}`)(directory, "0");
      assert.equal(signal, null);
      assert.match(
        stdout,
        /^the store needs 64 GiB of address space, .*: raise this process's limit of it \(ulimit -v/,
      );
    }
  });

  it("are refused with an error, or opened, when the process may open only a few more files", async () => {
    const directory = temporaryFolder();
    await storeWithValues(directory);
    const outcomes = Array.from({ length: 8 }, (_, free) => opening(directory, "0", String(free)));
    for (const [free, { signal, stdout }] of outcomes.entries()) {
      assert.equal(signal, null, `${free} descriptors`);
      assert.match(stdout, /^opened$|too many open files|unable to open database file/m, `${free} descriptors`);
    }
    assert.match(outcomes.at(-1)?.stdout ?? "", /^opened/);
  });
});
