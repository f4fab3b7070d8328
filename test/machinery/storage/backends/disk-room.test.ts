import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { DiskRoom, freeBytesIn, NoRoomOnDisk } from "../../../../src/machinery/storage/backends/disk-room.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

/** Says what the check finds after a commit that failed, in a process whose files may have 4 MiB. */
const limited = `
import { DiskRoom } from "${import.meta.resolve("../../../../src/machinery/storage/backends/disk-room.ts")}";
process.on("SIGXFSZ", () => {});
const room = new DiskRoom(process.argv[1]);
const found = [];
const look = (bytes) => {
  try {
    room.check({ bytes, pages: 0 });
    found.push("room");
  } catch (error) {
    found.push(error.code);
  }
};
look(8 * 2 ** 20);
room.requireTestWrite();
look(8 * 2 ** 20);
look(8 * 2 ** 20);
look(2 ** 20);
look(8 * 2 ** 20);
console.log(found.join());`;

function foundByLimited(path: string): string {
  const program = [process.execPath, "--input-type=module", "--eval", limited, path];
  // In blocks of 512 bytes. It is not bash, which warns of a locale that the machine lacks.
  const words = ["-c", 'ulimit -f 8192; exec "$0" "$@"', ...program];
  const { stdout, stderr } = spawnSync("sh", words, { encoding: "utf8" });
  assert.equal(stderr, "");
  return stdout;
}

describe("the room for commits on a disk", () => {
  it("is what the file system says is free", () => {
    const path = temporaryFolder();
    const room = new DiskRoom(path);
    room.check({ bytes: 0, pages: 0 });
    const free = freeBytesIn(path) ?? 0;
    for (const size of [
      { bytes: 2 * free, pages: 0 },
      { bytes: 0, pages: (2 * free) / 4096 },
    ]) {
      assert.throws(
        () => room.check(size),
        (error: Error) =>
          error instanceof NoRoomOnDisk && /^a write may take \d+ KiB, and \d+ KiB are free$/.test(error.message),
      );
    }
  });

  it("is tried out after a commit that failed, until there is enough, because quotas and limits are not free space", () => {
    const path = temporaryFolder();
    assert.equal(foundByLimited(path), "room,EFBIG,EFBIG,room,room\n");
    assert.deepEqual(readdirSync(path), []);
  });

  it("is tried out behind the end of the store's file, where the next pages will be", () => {
    const path = temporaryFolder();
    writeFileSync(join(path, "store.mdb"), Buffer.alloc(3_900_000));
    assert.equal(foundByLimited(path), "room,EFBIG,EFBIG,EFBIG,EFBIG\n");
    assert.deepEqual(readdirSync(path), ["store.mdb"]);
  });

  it("is unknown, and not refused, where the file system does not say", () => {
    const nowhere = "/nonexistent/folder";
    assert.equal(freeBytesIn(nowhere), undefined);
    new DiskRoom(nowhere).check({ bytes: 2 ** 40, pages: 0 });
  });
});
