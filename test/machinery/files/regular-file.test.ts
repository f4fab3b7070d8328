import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readRegularFile } from "../../../src/machinery/files/regular-file.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

describe("reading what is in the place of a file", () => {
  it("gives the contents of a file up to the limit, and reads nothing of a longer one", () => {
    const folder = temporaryFolder();
    const file = join(folder, "file");
    writeFileSync(file, "12345");
    assert.equal(readRegularFile(file, { largestBytes: 5 })?.contents.toString(), "12345");
    assert.equal(readRegularFile(file, { largestBytes: 4 }), undefined);
  });

  it("does not wait for a pipe, and reads no folder", () => {
    const folder = temporaryFolder();
    execFileSync("mkfifo", [join(folder, "pipe")]);
    mkdirSync(join(folder, "folder"));
    for (const name of ["pipe", "folder"]) {
      assert.equal(readRegularFile(join(folder, name), { largestBytes: 5 }), undefined);
    }
    assert.throws(() => readRegularFile(join(folder, "missing"), { largestBytes: 5 }), { code: "ENOENT" });
  });
});
