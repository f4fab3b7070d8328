import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "signet-lock-"));
after(() => rmSync(folder, { recursive: true }));

const ways = [
  { name: "with the program flock", path: process.env["PATH"] },
  { name: "without the program flock", path: "/nowhere" },
];

/** A process that answers each line: it takes the lock alone, takes it together with others, or releases it. */
const holder = `
import { createInterface } from "node:readline";
import { openFileLock } from ${JSON.stringify(join(import.meta.dirname, "../../../src/machinery/files/file-lock.ts"))};
const lock = openFileLock(process.argv[1]);
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "alone") console.log(lock.takeAlone({ waitMilliseconds: 0 }));
  else if (line === "together") console.log(lock.takeTogether());
  else console.log(lock.release() ?? "released");
}`;

class Holder {
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  constructor(file: string, path: string | undefined) {
    this.#process = spawn(process.execPath, ["--input-type=module", "--eval", holder, file], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, PATH: path },
    });
    const input = this.#process.stdout ?? assert.fail();
    this.#answers = createInterface({ input })[Symbol.asyncIterator]();
  }

  async ask(line: "alone" | "together" | "release"): Promise<string> {
    this.#process.stdin?.write(`${line}\n`);
    return String((await this.#answers.next()).value);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}

describe("a lock on a file", () => {
  for (const [index, { name, path }] of ways.entries()) {
    it(`is one process's alone or shared, until its holders end, however they end (${name})`, async (context) => {
      const file = join(folder, `${index}.lock`);
      const [one, other, third] = [new Holder(file, path), new Holder(file, path), new Holder(file, path)];
      context.after(() => Promise.all([one.kill(), other.kill(), third.kill()]));
      assert.equal(await one.ask("alone"), "true");
      assert.deepEqual([await other.ask("alone"), await other.ask("together")], ["false", "false"]);
      await one.kill();
      assert.equal(await other.ask("together"), "true");
      assert.equal(await third.ask("alone"), "false");
      assert.equal(await other.ask("release"), "released");
      assert.equal(await third.ask("alone"), "true");
    });
  }
});
