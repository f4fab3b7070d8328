import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import {
  flushFolder,
  openReplacement,
  replaceLink,
  writeFileAtomically,
  writeNewPrivateFile,
  writePrivateFile,
  writePublicFile,
} from "../../../src/machinery/files/atomic-file.ts";
import {
  removeAbandoned,
  removeUnfinished,
  removeUnfinishedFiles,
} from "../../../src/machinery/files/unfinished-files.ts";
import { readPrivateFile } from "../../../src/machinery/files/private-file.ts";
import { UnusableFile } from "../../../src/machinery/files/unusable-file.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

let folder = "";
let file = "";
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, "key");
});
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("a file that is written", () => {
  it("has its mode whatever the umask is", () => {
    const umask = process.umask(0o777);
    try {
      for (const mode of [0o600, 0o640, 0o400]) {
        writeFileAtomically(file, { contents: "text", mode });
        assert.equal(modeOf(file), mode);
      }
    } finally {
      process.umask(umask);
    }
  });

  it("is replaced as a whole, keeps its mode and leaves nothing beside it", () => {
    writePrivateFile(file, "one");
    writePrivateFile(file, "two");
    assert.equal(readFileSync(file, "utf8"), "two");
    assert.equal(modeOf(file), 0o600);
    writePublicFile(file, "three");
    assert.equal(modeOf(file), 0o644);
    assert.deepEqual(readdirSync(folder), ["key"]);
  });

  it("keeps the old contents when the write fails", () => {
    assert.throws(() => writePrivateFile(join(folder, "missing", "key"), "one"), {
      name: "UnusableFile",
      message: `cannot write ${join(folder, "missing", "key")}: the folder does not exist; make it, or name another`,
    });
  });

  it("tells of the failure also where what it has written cannot be removed", () => {
    const [place, loop] = [join(folder, "place"), join(folder, "loop")];
    mkdirSync(place);
    const replacement = openReplacement(join(place, "key"), { mode: 0o600 });
    renameSync(place, join(folder, "moved"));
    symlinkSync("loop", loop);
    symlinkSync("loop", place);
    assert.throws(() => replacement.commit(), { code: "ELOOP", syscall: "rename" });
  });

  it("leaves a folder that somebody has put in the place of what it has written", () => {
    const replacement = openReplacement(file, { mode: 0o600 });
    rmSync(replacement.temporary);
    mkdirSync(join(replacement.temporary, "below"), { recursive: true });
    replacement.discard();
    assert.deepEqual(readdirSync(replacement.temporary), ["below"]);
  });

  it("is private even if the file existed before and was readable by others", () => {
    writeFileSync(file, "theirs");
    chmodSync(file, 0o666);
    const held = openSync(file, "r"); // a program that has the file open reads the old contents
    writePrivateFile(file, "secret");
    assert.equal(modeOf(file), 0o600);
    assert.equal(readFileSync(held, "utf8"), "theirs");
    closeSync(held);
  });

  it("leaves other hard links of the replaced file unchanged", () => {
    const other = join(folder, "other");
    writeFileSync(other, "theirs");
    linkSync(other, file);
    writePrivateFile(file, "secret");
    assert.equal(readFileSync(other, "utf8"), "theirs");
  });

  it("replaces a link, and does not change the link's target", () => {
    const target = join(folder, "target");
    writeFileSync(target, "theirs");
    for (const leadsTo of [target, join(folder, "nothing")]) {
      rmSync(file, { force: true });
      symlinkSync(leadsTo, file);
      writePrivateFile(file, "secret");
      assert.ok(lstatSync(file).isFile());
    }
    assert.equal(readFileSync(target, "utf8"), "theirs");
    assert.deepEqual(readdirSync(folder).sort(), ["key", "target"]);
  });

  it("is refused when its name is a folder, a pipe or a device, or a link to one", () => {
    execFileSync("mkfifo", [join(folder, "pipe")]);
    mkdirSync(join(folder, "folder"));
    symlinkSync("/dev/null", join(folder, "device"));
    symlinkSync("pipe", join(folder, "link"));
    const before = readdirSync(folder);
    for (const name of before) assert.throws(() => writePrivateFile(join(folder, name), "secret"), UnusableFile);
    assert.deepEqual(readdirSync(folder), before);
  });

  it("is left as it is when only a new file is wanted, also where it is a link that leads nowhere", () => {
    assert.equal(writeNewPrivateFile(file, "one"), true);
    assert.equal(modeOf(file), 0o600);
    assert.equal(writeNewPrivateFile(file, "two"), false);
    assert.equal(readFileSync(file, "utf8"), "one");
    const link = join(folder, "link");
    symlinkSync(join(folder, "nowhere"), link);
    assert.equal(writeNewPrivateFile(link, "three"), false);
    assert.deepEqual(readdirSync(folder).toSorted(), ["key", "link"]);
    assert.throws(() => writeNewPrivateFile(join(folder, "missing", "key"), "one"), UnusableFile);
  });

  it("may have a name of the greatest length", () => {
    const longest = join(folder, "ü".repeat(127));
    writePrivateFile(longest, "secret");
    assert.equal(readFileSync(longest, "utf8"), "secret");
  });
});

describe("a folder of a file system that cannot flush folders", { skip: process.platform !== "linux" }, () => {
  it("may have files, as /proc", () => {
    flushFolder("/proc/self");
  });
});

describe("what a kill left of a file", () => {
  const left = "key.0123456789ab.new";
  const others = ["key", "key.0123456789ab", "key.0123456789ab.new.old", "key.new", "other.0123456789ab.new"];
  beforeEach(() => {
    for (const name of [left, ...others]) writeFileSync(join(folder, name), "secret");
  });

  it("is removed, and nothing else is", () => {
    removeUnfinished(file);
    assert.deepEqual(readdirSync(folder).toSorted(), others);
  });

  it("is removed with that of all files of a folder", () => {
    removeUnfinishedFiles(folder);
    assert.deepEqual(readdirSync(folder).toSorted(), others.slice(0, -1));
  });

  it("is removed an hour after it was written to where others may be writing", () => {
    const writtenAt = Date.UTC(2026, 0, 1);
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), writtenAt / 1000, writtenAt / 1000);
    removeAbandoned(file, writtenAt + 3_599_000);
    assert.equal(readdirSync(folder).includes(left), true);
    removeAbandoned(file, writtenAt + 3_600_000);
    assert.deepEqual(readdirSync(folder).toSorted(), others);
    removeAbandoned(join(folder, "missing", "key"), writtenAt);
  });
});

describe("a symbolic link", () => {
  it("is replaced by one to another target, and left as it is when that fails", () => {
    const link = join(folder, "link");
    replaceLink(link, "one");
    replaceLink(link, "two");
    assert.equal(readlinkSync(link), "two");
    assert.deepEqual(readdirSync(folder), ["link"]);
    mkdirSync(file);
    assert.throws(() => replaceLink(file, "two"), UnusableFile);
    assert.deepEqual(readdirSync(folder).toSorted(), ["key", "link"]);
  });

  it(
    "is refused with advice by a file system that has none",
    {
      skip: (process.platform !== "linux" || process.getuid?.() !== 0) && "only root of Linux is asked for more there",
    },
    () =>
      assert.throws(
        () => replaceLink("/sys/link", "one"),
        /\/sys\/link: its file system has no symbolic links, .* on another$/,
      ),
  );
});

it(
  "a file is not given to another user by one who may not, and the failure says what to do",
  { skip: process.getuid?.() !== 0 && "only root can act as others" },
  () => {
    chownSync(folder, 4711, 0);
    process.seteuid?.(4711);
    try {
      assert.throws(() => writeFileAtomically(file, { contents: "", mode: 0o600, uid: 0 }), {
        name: "UnusableFile",
        message: `cannot write ${file}: this user may not give it to that owner or group; run as root, or name another owner and group`,
      });
    } finally {
      process.seteuid?.(0);
    }
    assert.deepEqual(readdirSync(folder), []);
  },
);

describe("a private file", () => {
  it("is read when only its owner can", () => {
    writePrivateFile(file, "secret");
    assert.equal(readPrivateFile(file), "secret");
    assert.equal(readPrivateFile(join(folder, "missing")), undefined);
  });

  it("is refused when other users can read or write it, also behind a link", () => {
    writePrivateFile(file, "secret");
    symlinkSync("key", join(folder, "link"));
    for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610]) {
      chmodSync(file, mode);
      for (const name of ["key", "link"]) {
        assert.throws(() => readPrivateFile(join(folder, name)), /chmod 600/, mode.toString(8));
      }
    }
  });

  it(
    "is refused when it belongs to another user",
    { skip: process.getuid?.() !== 0 && "only root can give files to others" },
    () => {
      writePrivateFile(file, "secret");
      chownSync(file, 4711, 0);
      assert.throws(() => readPrivateFile(file), /belongs to another user \(uid 4711\); chown it/);
    },
  );

  it("is refused without waiting when it is a pipe", () => {
    execFileSync("mkfifo", ["-m", "600", file]);
    assert.throws(() => readPrivateFile(file), UnusableFile);
  });

  it("is not read when it is larger than any with keys", () => {
    writeFileSync(file, "", { mode: 0o600 });
    truncateSync(file, 16 * 2 ** 20 + 1);
    assert.throws(() => readPrivateFile(file), /is not a file of at most 16 MiB/);
    truncateSync(file, 16 * 2 ** 20);
    assert.equal(readPrivateFile(file)?.length, 16 * 2 ** 20);
  });
});
