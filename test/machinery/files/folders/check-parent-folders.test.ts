import assert from "node:assert/strict";
import fs, { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync } from "node:fs";
import type { PathLike, Stats } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { checkParentFolders } from "../../../../src/machinery/files/folders/check-parent-folders.ts";
import { UnusableFile } from "../../../../src/machinery/files/unusable-file.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const skip = process.getuid?.() === 0 ? false : "only root can give files to others";
const other = 4711;
const nobody = 65534;

describe("the way to a folder", () => {
  let top: string;
  let folder: string;
  beforeEach(() => {
    top = temporaryFolder();
    folder = join(top, "srv", "web");
    mkdirSync(folder, { recursive: true });
  });
  const refuses = (path: string, why: RegExp): void =>
    assert.throws(
      () => checkParentFolders(path, {}),
      (error) => error instanceof UnusableFile && why.test(error.message),
    );

  it("is safe below a sticky folder, as the temporary one is", () => {
    checkParentFolders(folder, {});
    chmodSync(join(top, "srv"), 0o1777);
    checkParentFolders(folder, {});
  });

  it("is safe where nothing is there yet, and where links lead to each other", () => {
    checkParentFolders(join(folder, "keys", "of", "web"), {});
    symlinkSync("there", join(folder, "back"));
    symlinkSync("back", join(folder, "there"));
    checkParentFolders(join(folder, "there"), {});
  });

  it("is refused below a folder in which all may rename, also where the folder is not there yet", () => {
    chmodSync(join(top, "srv"), 0o777);
    refuses(folder, /srv can be changed by all users, .* in the place of .*web; chmod o-w it/);
    refuses(join(folder, "..", "db", "keys"), /srv can be changed/);
  });

  it("is refused below another user's folder, unless the file is for that user", { skip }, () => {
    chownSync(join(top, "srv"), other, other);
    refuses(folder, /srv belongs to another user \(uid 4711\)/);
    checkParentFolders(folder, { uid: other });
  });

  it("is refused over another user's link, and where a link leads through such a place", { skip }, () => {
    const link = join(top, "link");
    symlinkSync("srv/web", link);
    checkParentFolders(link, {});
    lchownSync(link, other, other);
    refuses(link, /link belongs to another user/);
    refuses(join(link, "keys"), /link belongs to another user/);
    lchownSync(link, 0, 0);
    chmodSync(join(top, "srv"), 0o777);
    refuses(link, /srv can be changed by all users/);
  });

  it("is not refused for who may write to the folder itself: nobody of them can move it", () => {
    chmodSync(folder, 0o777);
    checkParentFolders(folder, {});
  });

  it("is refused for the owner of the folder itself only where all may make folders", { skip }, () => {
    chownSync(folder, other, other);
    checkParentFolders(folder, {});
    chmodSync(join(top, "srv"), 0o1777);
    refuses(folder, /web belongs to another user/);
  });

  it("is safe in a sandbox that shows root as nobody, but not below a folder of a user whom it shows", { skip }, () => {
    const { lstatSync } = fs;
    const lstatInSandbox = (path: PathLike): Stats => {
      const status = lstatSync(path);
      return Object.assign(status, { uid: status.uid === 0 ? nobody : status.uid });
    };
    Reflect.set(fs, "lstatSync", lstatInSandbox);
    syncBuiltinESMExports();
    try {
      checkParentFolders(folder, {});
      chownSync(join(top, "srv"), other, other);
      refuses(folder, /srv belongs to another user/);
    } finally {
      Reflect.set(fs, "lstatSync", lstatSync);
      syncBuiltinESMExports();
    }
  });

  it("leaves the folder that a link leads to where another link has `..` behind it", () => {
    symlinkSync("srv/web", join(top, "current"));
    mkdirSync(join(top, "srv", "data"));
    symlinkSync("current/../data", join(top, "data"));
    checkParentFolders(join(top, "data"), { mustExist: true });
    chmodSync(join(top, "srv"), 0o777);
    refuses(join(top, "data"), /srv can be changed by all users/);
  });

  it("may lead through many links", () => {
    let way = folder;
    for (let count = 0; count < 20; count++) {
      const link = join(top, `link-${count}`);
      symlinkSync(way, link);
      way = link;
    }
    checkParentFolders(way, {});
  });
});
