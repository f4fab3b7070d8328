import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { LineWriter } from "../../../../src/machinery/files/lines/line-writer.ts";
import type { LineWriterOptions } from "../../../../src/machinery/files/lines/line-writer.ts";
import { openLogFile } from "../../../../src/machinery/files/lines/log-output.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const folder = temporaryFolder();
let files = 0;
const newPath = (): string => join(folder, `file-${++files}`);
/** A pipe, what writes to it, and what reads so many bytes of it. */
function pipe(options: Omit<LineWriterOptions, "output">) {
  const path = newPath();
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = new LineWriter({ output: openLogFile(path, { tornLine: "end" }), ...options });
  const buffer = Buffer.alloc(65_536);
  const read = async (bytes: number): Promise<string> => {
    let text = "";
    while (text.length < bytes) {
      try {
        text += buffer.toString("utf8", 0, readSync(reader, buffer));
      } catch {
        await delay(1); // nothing is there yet
      }
    }
    return text;
  };
  return { writer, read };
}

describe("a line writer", () => {
  it("limits waiting lines in bytes, and tells how many were lost once it can write again", async () => {
    const told = Promise.withResolvers<number>();
    const { writer, read } = pipe({ maximumBytes: 100, onRecovered: told.resolve });
    for (let index = 0; index < 1000; index++) writer.write(`line ${String(index).padStart(4, "0")}\n`);
    assert.match(await read(100), /^line 0000\n(line \d{4}\n){9}$/);
    assert.equal(await told.promise, 990);
  });

  it("waits for a pipe's reader without blocking, and then writes every line once", async () => {
    const { writer, read } = pipe({ maximumBytes: 2 ** 20 });
    const wanted = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join("");
    for (const line of wanted.split(/(?<=\n)/)) writer.write(line);
    assert.equal(await read(wanted.length), wanted);
  });
});
