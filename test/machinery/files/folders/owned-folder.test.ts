import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { joinFolder, ownFolder } from "../../../../src/machinery/files/folders/owned-folder.ts";
import { showAllFilesAs } from "../show-all-files-as.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

it("a folder is not used on a file system without modes, where all users could read the keys, unless it shows others none", (context) => {
  const folder = temporaryFolder();
  const shown = showAllFilesAs(context, 0o755);
  assert.throws(() => ownFolder(folder), {
    name: "UnusableFile",
    message: `${folder} cannot be used: its file system makes the mode 0755 of 0600; name a place on another, or mount it with another umask`,
  });
  assert.deepEqual(readdirSync(folder), []);
  shown.mode = 0o700;
  ownFolder(folder).release();
});

it("a folder has one owner also when its lock was removed, until the owner ends", () => {
  const folder = temporaryFolder();
  const owner = ownFolder(folder);
  rmSync(join(folder, "owner.lock"));
  assert.throws(() => ownFolder(folder, { waitMilliseconds: 0 }), {
    name: "UnusableFile",
    message: `${folder}: a command, or processes of a server, still use it; wait for the command, or end them, then try again`,
  });
  owner.release();
  ownFolder(folder, { waitMilliseconds: 0 }).release();
});

it("what is in the place of a folder's lock is named, not the folder", () => {
  for (const name of ["owner.lock", "members.lock"]) {
    const folder = temporaryFolder();
    const lock = join(folder, name);
    mkdirSync(lock);
    assert.throws(() => ownFolder(folder), {
      name: "UnusableFile",
      message: `${lock} is a folder where a file has to be; remove it`,
    });
    if (name !== "members.lock") continue;
    assert.throws(() => joinFolder(folder), {
      name: "UnusableFile",
      message: `${lock} cannot be locked: it is a folder; name a file`,
    });
  }
});
