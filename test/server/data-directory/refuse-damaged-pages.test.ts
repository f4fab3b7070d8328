import assert from "node:assert/strict";
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { OpeningLock } from "../../../src/machinery/storage/backends/opening-lock.ts";
import { refuseDamagedPages } from "../../../src/server/data-directory/refuse-damaged-pages.ts";
import { put } from "../../machinery/storage/store-contract.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const pageBytes = 4096;
const mebibyte = 2 ** 20;

/** A data directory whose store has so many bytes, and a damaged page of the log. */
async function damagedStore(bytes: number) {
  const directory = temporaryFolder();
  const store = new LmdbStore({ directory: join(directory, "store"), profile: "platform" });
  for (let index = 0; index < 9; index += 1) await put(store, `/key-${index}`, "text".repeat(300));
  await store.close();
  const path = join(directory, "store", "store.mdb");
  const file = readFileSync(path);
  // Only the log has values.
  const position = Math.floor(file.lastIndexOf("texttext") / pageBytes) * pageBytes + 18;
  file.writeUInt8(file.readUInt8(position) ^ 1, position);
  rmSync(path);
  writeFileSync(path, file, { mode: 0o600 });
  truncateSync(path, bytes);
  /** As a commit of another process: the newest meta data, and the root that it names, are of another transaction. */
  const commit = (): void => {
    const changed = readFileSync(path).subarray(0, file.length);
    const [first, second] = [0x98, pageBytes + 0x98];
    const newest = changed.readBigUInt64LE(second) > changed.readBigUInt64LE(first) ? second : first;
    const transaction = changed.readBigUInt64LE(newest) + 2n;
    const root = Number(changed.readBigUInt64LE(newest - 0x98 + 0x88));
    for (const at of [newest, root * pageBytes + 8]) changed.writeBigUInt64LE(transaction, at);
    writeFileSync(path, changed);
    truncateSync(path, bytes);
  };
  return { path: directory, commit };
}

describe("the check of a store before it is read", () => {
  for (const { bytes, name, isRefused } of [
    {
      bytes: 64 * mebibyte,
      name: "refuses a damaged page, also when another process writes meanwhile",
      isRefused: true,
    },
    {
      bytes: 65 * mebibyte,
      name: "lets others write soon: looks at a log of more than 64 MiB only once, and believes what it found if nobody wrote",
      isRefused: false,
    },
  ]) {
    it(name, async (t) => {
      const { path, commit } = await damagedStore(bytes);
      const check = (): void => refuseDamagedPages(path, { purpose: "doctor" });
      assert.throws(check, /is damaged \(page \d+\); restore a backup/);
      const { open } = OpeningLock.prototype;
      t.mock.method(OpeningLock.prototype, "open", function <T>(this: OpeningLock, run: () => T): T {
        commit();
        return open.call(this, run) as T;
      });
      if (isRefused) assert.throws(check, /is damaged/);
      else check();
    });
  }
});
