import assert from "node:assert/strict";
import fs, { chmodSync, lchownSync, mkdirSync, readdirSync, rmdirSync, statSync, symlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { checkParentFolders } from "../../../../src/machinery/files/folders/check-parent-folders.ts";
import { makeGuardedFolder } from "../../../../src/machinery/files/folders/make-guarded-folder.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const skip = process.getuid?.() === 0 ? false : "only root can give links to others";
const other = 4711;

/** Runs something while another program acts just before each call of a function of the file system. */
function whileActing(
  { before, act }: { readonly before: "mkdirSync" | "lstatSync"; readonly act: () => void },
  run: () => void,
): void {
  const original = fs[before];
  Reflect.set(fs, before, (...words: unknown[]): unknown => {
    act();
    return Reflect.apply(original, fs, words);
  });
  syncBuiltinESMExports();
  try {
    run();
  } finally {
    Reflect.set(fs, before, original);
    syncBuiltinESMExports();
  }
}

describe("a guarded folder", () => {
  let top: string;
  let folder: string;
  beforeEach(() => {
    top = temporaryFolder();
    folder = join(top, "web");
    chmodSync(top, 0o1777);
  });

  it("is made with its mode, and is left as it is when it exists", () => {
    makeGuardedFolder(folder, { mode: 0o755 });
    makeGuardedFolder(folder, { mode: 0o700 });
    assert.equal(statSync(folder).mode & 0o777, 0o755);
  });

  it("is not made where all users can replace it", () => {
    chmodSync(top, 0o777);
    assert.throws(() => makeGuardedFolder(folder, { mode: 0o755 }), /can be changed by all users/);
    assert.deepEqual(readdirSync(top), []);
  });

  it("is refused when another user puts a link in its place just before it is made", { skip }, () => {
    const elsewhere = join(top, "elsewhere");
    mkdirSync(elsewhere);
    const putLink = (): void => {
      symlinkSync(elsewhere, folder);
      lchownSync(folder, other, other);
    };
    whileActing({ before: "mkdirSync", act: putLink }, () =>
      assert.throws(() => makeGuardedFolder(folder, { mode: 0o755 }), /web belongs to another user \(uid 4711\)/),
    );
  });

  it("is refused when it is gone after it was there, because a link may come in its place", () => {
    mkdirSync(folder);
    const remove = (): void => {
      if (readdirSync(top).length > 0) rmdirSync(folder);
    };
    whileActing({ before: "lstatSync", act: remove }, () =>
      assert.throws(() => checkParentFolders(folder, { mustExist: true }), /web has just been removed/),
    );
  });
});
