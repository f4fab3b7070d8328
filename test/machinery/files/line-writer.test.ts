import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  constants,
  linkSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { LineWriter } from "../../../src/machinery/files/line-writer.ts";
import { openLogFile } from "../../../src/machinery/files/log-output.ts";

const folder = mkdtempSync(join(tmpdir(), "signet-lines-"));
let files = 0;
const newPath = (): string => join(folder, `file-${++files}`);
const writerOf = (path: string, maximumBytes = 1024): LineWriter =>
  new LineWriter({ output: openLogFile(path), maximumBytes, flushMilliseconds: 0 });
const close = (writer: LineWriter): Promise<number> => writer.close({ withinMilliseconds: 1000 });

after(() => rmSync(folder, { recursive: true, force: true }));

describe("a line writer", () => {
  it("appends whole lines to a file that only its owner can read", async () => {
    const path = newPath();
    const writer = writerOf(path);
    for (const line of ["one\n", "two\n"]) assert.equal(writer.write(line), true);
    assert.equal(await close(writer), 0);
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("removes other users' permissions on an existing file, and ends its incomplete line", async () => {
    const path = newPath();
    writeFileSync(path, "whole\nhalf");
    chmodSync(path, 0o644);
    const writer = writerOf(path);
    writer.write("next\n");
    await close(writer);
    assert.equal(readFileSync(path, "utf8"), "whole\nhalf\nnext\n");
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
    for (const refused of [symbolic, hard, path, folder, pipe]) assert.throws(() => openLogFile(refused), refused);
  });

  it("limits waiting lines in bytes, and counts lost ones", async () => {
    const writer = writerOf("/dev/full", 100);
    let taken = 0;
    for (let index = 0; index < 1000; index++) if (writer.write("123456789\n")) taken++;
    assert.equal(taken, 10);
    assert.equal(writer.lostLines, 990);
    assert.equal(await close(writer), 10);
  });

  it("waits for a pipe's reader without blocking, and then gives it every line once", async () => {
    const path = newPath();
    assert.equal(spawnSync("mkfifo", [path]).status, 0);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = writerOf(path, 2 ** 20);
    const wanted = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join("");
    for (const line of wanted.split(/(?<=\n)/)) assert.equal(writer.write(line), true);
    let read = "";
    const buffer = Buffer.alloc(65_536);
    while (read.length < wanted.length) {
      try {
        read += buffer.toString("utf8", 0, readSync(reader, buffer));
      } catch {
        await delay(1); // nothing is there yet
      }
    }
    assert.equal(read, wanted);
    assert.equal(await close(writer), 0);
    closeSync(reader);
  });

  it("continues in a new file when the old one was renamed", async () => {
    const path = newPath();
    const writer = writerOf(path);
    writer.write("old\n");
    while (statSync(path).size === 0) await delay(1);
    renameSync(path, `${path}.1`);
    let lines = 0;
    while (statSync(path, { throwIfNoEntry: false }) === undefined) {
      writer.write(`line ${lines++}\n`);
      await delay(20);
    }
    await close(writer);
    const all = readFileSync(`${path}.1`, "utf8") + readFileSync(path, "utf8");
    assert.equal(all, `old\n${Array.from({ length: lines }, (_, index) => `line ${index}\n`).join("")}`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });
});
