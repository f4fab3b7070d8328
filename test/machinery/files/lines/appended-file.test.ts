import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { AppendedFile } from "../../../../src/machinery/files/lines/appended-file.ts";
import { SqliteLock } from "../../../../src/machinery/files/locks/sqlite-lock.ts";
import { LogBackups } from "../../../../src/machinery/files/lines/log-backups.ts";
import { openLogFile } from "../../../../src/machinery/files/lines/log-output.ts";
import { ManualTime } from "../../../manual-time.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const root = temporaryFolder();
let files = 0;
const newPath = (): string => join(mkdtempSync(join(root, `${++files}-`)), "audit.log");
const noon = Date.parse("2026-11-22T12:00:00Z");

const openFile = (path: string, { maximumBytes = 0, onMoved = () => {} } = {}): AppendedFile =>
  new AppendedFile({
    path,
    lock: new SqliteLock(`${path}.lock`),
    maximumBytes,
    links: undefined,
    now: () => noon,
    onMoved,
  });
const text = (path: string): string => readFileSync(path, "utf8");

describe("an appended file", () => {
  it("has whole lines, and only its owner can read it", async () => {
    const path = newPath();
    const file = openFile(path);
    await file.append(["one", "two"]);
    file.appendNow(["three"]);
    file.close();
    assert.equal(text(path), "one\ntwo\nthree\n");
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("removes other users' permissions, and ends a line that a crash has cut", async () => {
    const path = newPath();
    writeFileSync(path, "whole\nhalf");
    chmodSync(path, 0o644);
    const file = openFile(path);
    await file.append(["next"]);
    assert.equal(text(path), "whole\nhalf\nnext\n");
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("refuses links, folders, and pipes without a reader", () => {
    const path = newPath();
    writeFileSync(path, "", { mode: 0o600 });
    const symbolic = newPath();
    symlinkSync(path, symbolic);
    const hard = newPath();
    linkSync(path, hard);
    const pipe = newPath();
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    for (const refused of [symbolic, hard, path, root, pipe]) {
      assert.throws(() => openLogFile(refused, { tornLine: "end" }), refused);
    }
    assert.throws(() => openLogFile(symbolic, { tornLine: "end" }), /^Error: it is a symbolic link; name a file$/);
    const missing = newPath();
    symlinkSync(join(root, "nothing"), missing);
    assert.throws(() => openLogFile(missing, { tornLine: "end" }), /^Error: it is a symbolic link/);
  });

  it("refuses another user's file", { skip: process.getuid?.() !== 0 && "only root can give files to others" }, () => {
    const path = newPath();
    writeFileSync(path, "", { mode: 0o600 });
    chownSync(path, 4711, 0);
    assert.throws(() => openLogFile(path, { tornLine: "end" }), /^Error: it belongs to another user$/);
  });

  it("is created again after it was moved or removed", async () => {
    const path = newPath();
    const file = openFile(path);
    await file.append(["old"]);
    renameSync(path, `${path}.1`);
    await file.append(["new"]);
    rmSync(path);
    await file.append(["newest"]);
    assert.deepEqual([text(`${path}.1`), text(path)], ["old\n", "newest\n"]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("is rotated once before it becomes too large, whoever else writes to it", async () => {
    const path = newPath();
    const moved: string[] = [];
    const writers = [1, 2, 3].map(() => openFile(path, { maximumBytes: 100, onMoved: () => void moved.push("moved") }));
    const line = (writer: number, index: number): string => `${writer}-${index} `.padEnd(29, "x");
    for (let index = 0; index < 4; index++) {
      await Promise.all(writers.map((writer, at) => writer.append([line(at, index)])));
    }
    const names = readdirSync(join(path, ".."))
      .filter((name) => name.endsWith(".log"))
      .toSorted();
    assert.equal(moved.length, 3);
    // Of one moment: each has a name of its own.
    assert.deepEqual(names.slice(0, 2), ["audit-2026-11-22T12-00-00.000.log", "audit-2026-11-22T12-00-00.001.log"]);
    const lines = names.flatMap((name) =>
      text(join(path, "..", name))
        .trimEnd()
        .split("\n"),
    );
    assert.equal(lines.length, 12);
    assert.equal(new Set(lines).size, 12);
    for (const name of names) assert.ok(statSync(join(path, "..", name)).size <= 100);
  });
});

describe("backups of a log", () => {
  const backups = (path: string): string[] =>
    readdirSync(join(path, ".."))
      .filter((name) => !name.endsWith(".lock"))
      .toSorted();
  const backupsOf = (
    path: string,
    options: {
      maximumCount?: number;
      maximumAgeMilliseconds?: number;
      isCompressed?: boolean;
      time?: ManualTime;
    },
  ): LogBackups => {
    const { clock, monotonic } = options.time ?? new ManualTime(noon);
    return new LogBackups({
      path,
      maximumCount: 0,
      maximumAgeMilliseconds: 0,
      isCompressed: false,
      lock: new SqliteLock(`${path}.tidy.lock`),
      clock,
      monotonic,
      ...options,
    });
  };
  const write = (path: string, ...names: readonly string[]): void => {
    for (const name of names) {
      writeFileSync(join(path, "..", name), `${name}\n`, { mode: 0o600 });
      utimesSync(join(path, "..", name), 0, 0);
    }
  };
  const dated = (day: number): string => `audit-2026-11-${day}T00-00-00.000.log`;

  const hour = 3_600_000;
  const day = 24 * hour;

  it("are removed when they are too many, or too old at two looks that are an hour apart, and nothing else is", async () => {
    const path = newPath();
    const others = [
      "audit.log",
      "audit-notes.log",
      "other-2026-11-01T00-00-00.000.log",
      "audit-2026-11-01T00-00-00.000.txt",
    ];
    write(path, ...others, dated(17), dated(18), `${dated(19)}.gz`, dated(20), dated(21));
    const time = new ManualTime(noon);
    const counted = backupsOf(path, { maximumCount: 4, time });
    await counted.tidy();
    time.pass(hour);
    await counted.tidy();
    assert.deepEqual(backups(path), [dated(18), `${dated(19)}.gz`, dated(20), dated(21), ...others].toSorted());
    const aged = backupsOf(path, { maximumAgeMilliseconds: 3 * day, time });
    await aged.tidy();
    time.pass(hour - 1);
    await aged.tidy();
    assert.equal(backups(path).length, 4 + others.length);
    time.pass(1);
    await aged.tidy();
    assert.deepEqual(backups(path), [dated(20), dated(21), ...others].toSorted());
  });

  it("stay when the clock was ahead of their end for less than an hour", async () => {
    const path = newPath();
    write(path, dated(20), dated(21));
    const time = new ManualTime(noon);
    const aged = backupsOf(path, { maximumAgeMilliseconds: 3 * day, time });
    time.setClock(30 * day);
    await aged.tidy();
    time.pass(hour - 1);
    time.setClock(-30 * day);
    await aged.tidy();
    time.pass(hour);
    time.setClock(30 * day);
    await aged.tidy();
    assert.deepEqual(backups(path), [dated(20), dated(21)]);
  });

  it("are named in the order in which they were moved when the clock was set back, and the newest are kept", async () => {
    const path = newPath();
    write(path, "audit-2026-12-24T00-00-00.000.log", "audit-2026-12-24T00-00-01.000.log.gz");
    const file = openFile(path, { maximumBytes: 10 });
    for (const line of ["first line", "second line", "third line"]) await file.append([line]);
    await backupsOf(path, { maximumCount: 3 }).tidy();
    const names = ["audit-2026-12-24T00-00-01.001.log", "audit-2026-12-24T00-00-01.002.log"];
    assert.deepEqual(
      backups(path),
      [...names.slice(0, 1), "audit-2026-12-24T00-00-01.000.log.gz", ...names.slice(1), "audit.log"].toSorted(),
    );
    assert.deepEqual(
      names.map((name) => text(join(path, "..", name))),
      ["first line\n", "second line\n"],
    );
  });

  it("are as old as their files say when the clock was set back and their names are of the future", async () => {
    const path = newPath();
    const [old, young] = ["audit-2036-11-22T00-00-00.000.log", "audit-2036-11-22T00-00-00.001.log"];
    write(path, old, young);
    const time = new ManualTime(noon);
    utimesSync(join(path, "..", old), 0, (noon - 4 * day) / 1000);
    utimesSync(join(path, "..", young), 0, (noon - 2 * day) / 1000);
    const aged = backupsOf(path, { maximumAgeMilliseconds: 3 * day, time });
    await aged.tidy();
    time.pass(hour);
    await aged.tidy();
    assert.deepEqual(backups(path), [young]);
  });

  it("are compressed whole and private, also after a crash in the middle", async () => {
    const path = newPath();
    write(path, dated(20), dated(21), `${dated(20)}.gz.new`);
    await backupsOf(path, { isCompressed: true }).tidy();
    assert.deepEqual(backups(path), [`${dated(20)}.gz`, `${dated(21)}.gz`]);
    const file = join(path, "..", `${dated(20)}.gz`);
    assert.equal(gunzipSync(readFileSync(file)).toString("utf8"), `${dated(20)}\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("are left to the process that is already tidying up", async () => {
    const path = newPath();
    write(path, dated(20));
    const busy = new SqliteLock(`${path}.tidy.lock`);
    busy.lockExclusive({ waitMilliseconds: 0 });
    await backupsOf(path, { isCompressed: true }).tidy();
    assert.deepEqual(backups(path), [dated(20)]);
    busy.release();
  });
});
