import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
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
  new LineWriter({ output: openLogFile(path, { tornLine: "end" }), maximumBytes, flushMilliseconds: 0 });
const close = (writer: LineWriter): Promise<number> => writer.close({ withinMilliseconds: 1000 });

after(() => rmSync(folder, { recursive: true, force: true }));

describe("a line writer", () => {
  it("limits waiting lines in bytes, and counts lost ones", async () => {
    const writer = writerOf("/dev/full", 100);
    let taken = 0;
    for (let index = 0; index < 1000; index++) if (writer.write("123456789\n")) taken++;
    assert.equal(taken, 10);
    assert.equal(writer.lostLines, 990);
    assert.equal(await close(writer), 10);
  });

  it("waits for a pipe's reader without blocking, and then writes every line once", async () => {
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
});
