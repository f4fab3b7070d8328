import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { SqliteLock } from "../../../../src/machinery/files/locks/sqlite-lock.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const folder = temporaryFolder();

const fileLockModule = import.meta.resolve("../../../../src/machinery/files/locks/file-lock.ts");

const ways = [
  { name: "with the program flock", path: process.env["PATH"] },
  { name: "without the program flock", path: "/nowhere" },
];

/** A process that answers each line: it takes the exclusive lock, takes the shared one, or releases it. */
const holder = `
import { createInterface } from "node:readline";
import { openFileLock } from "${fileLockModule}";
const lock = openFileLock(process.argv[1]);
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "exclusive") console.log(lock.lockExclusive({ waitMilliseconds: 0 }));
  else if (line === "shared") console.log(lock.lockShared());
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

  async ask(line: "exclusive" | "shared" | "release"): Promise<string> {
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
    it(`is exclusive or shared, until its holders end, however they end (${name})`, async (context) => {
      const file = join(folder, `${index}.lock`);
      const [one, other, third] = [new Holder(file, path), new Holder(file, path), new Holder(file, path)];
      context.after(() => Promise.all([one.kill(), other.kill(), third.kill()]));
      assert.equal(await one.ask("exclusive"), "true");
      assert.deepEqual([await other.ask("exclusive"), await other.ask("shared")], ["false", "false"]);
      await one.kill();
      assert.equal(await other.ask("shared"), "true");
      assert.equal(await third.ask("exclusive"), "false");
      assert.equal(await other.ask("release"), "released");
      assert.equal(await third.ask("exclusive"), "true");
    });
  }
});

/** A process that has as many open files as it may have. */
const lockWithoutFiles = `
import { openSync } from "node:fs";
import { openFileLock } from "${fileLockModule}";
const lock = openFileLock(process.argv[1]);
try { for (;;) openSync("/dev/null"); } catch {}
try { lock.lockShared(); } catch ({ message }) { console.log(message); }`;

describe("a lock of flock on a file", () => {
  it("is refused with the limit that is too low when no more files may be open", () => {
    const words = [process.execPath, "--input-type=module", "--eval", lockWithoutFiles, join(folder, "limit.lock")];
    const { stdout } = spawnSync("sh", ["-c", 'ulimit -n 100 && exec "$@"', "sh", ...words], { encoding: "utf8" });
    assert.match(
      stdout,
      /limit\.lock cannot be locked: this process has as many open files as it may have \(ulimit -n\)/,
    );
  });
});

const lockOnce = `
import { openFileLock } from "${fileLockModule}";
try { console.log(openFileLock(process.argv[1]).lockShared()); } catch ({ message }) { console.log(message); }`;

describe("a lock of flock whose program is ended", () => {
  /** What happens where a script is in the place of flock. In it, `flock` is the real one. */
  const lockedBy = (name: string, script: string): string => {
    const programs = join(folder, name);
    mkdirSync(programs);
    const path = process.env["PATH"] ?? "";
    writeFileSync(join(programs, "flock"), `#!/bin/sh\nPATH='${path}'\n${script}\n`, { mode: 0o755 });
    const words = ["--input-type=module", "--eval", lockOnce, join(folder, `${name}.lock`)];
    const env = { ...process.env, PATH: `${programs}:${path}` };
    return spawnSync(process.execPath, words, { encoding: "utf8", env }).stdout.trim();
  };

  it("is taken all the same after Ctrl-C, which ends every program of the terminal", () => {
    const script = `[ -e "$0.begun" ] && exec flock "$@"; : > "$0.begun"; kill -INT $$`;
    assert.equal(lockedBy("interrupted", script), "true");
  });

  it("is refused with the signal for another one", () => {
    const said = lockedBy("killed", "kill -KILL $$");
    assert.match(said, /killed\.lock cannot be locked: the program flock was ended by SIGKILL$/);
  });
});

const lockOnPipe = `
import { openFileLock } from "${fileLockModule}";
try { console.log(openFileLock(process.argv[1]).lockExclusive({ waitMilliseconds: 0 })); } catch ({ message }) { console.log(message); }`;

describe("a lock on a pipe", () => {
  for (const { name, path } of ways) {
    it(`waits for nobody who reads the pipe (${name})`, () => {
      const pipe = join(folder, `${path === "/nowhere" ? "sqlite" : "flock"}.pipe`);
      spawnSync("mkfifo", [pipe]);
      const { signal, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", lockOnPipe, pipe], {
        encoding: "utf8",
        env: { PATH: path },
        timeout: 60_000,
      });
      assert.equal(signal, null);
      assert.match(stdout, /^true$|it is no empty file/m);
    });
  }
});

const nobody = 65_534;

/** Root may write to every file. */
const lockAsNobody = `
import { SqliteLock } from "${import.meta.resolve("../../../../src/machinery/files/locks/sqlite-lock.ts")}";
if (process.getuid() === 0) { process.setgid(${nobody}); process.setuid(${nobody}); }
try { console.log(new SqliteLock(process.argv[1]).lockExclusive({ waitMilliseconds: 0 })); } catch (error) { console.log(error.message); }`;

describe("a lock of SQLite on a file", () => {
  const refusal = (file: string, reason: RegExp): void =>
    assert.throws(
      () => new SqliteLock(file),
      ({ name, message }: Error) =>
        name === "UnusableFile" && message.startsWith(`${file} cannot be locked: `) && reason.test(message),
    );

  it("is refused with an error that names the file when it is another program's, or not a file", () => {
    const text = join(folder, "text");
    writeFileSync(text, "a text");
    refusal(text, /it is no empty file; end what uses it, and remove it$/);
    const inside = join(folder, "inside");
    mkdirSync(inside);
    refusal(inside, /it is no empty file/);
    const loop = join(folder, "loop");
    symlinkSync(loop, loop);
    refusal(loop, /its symbolic links form a loop/);
    refusal(join(text, "below"), /a part of the path is a file/);
  });

  it("is refused when this user may only read the file: such a lock keeps nobody out", () => {
    const own = mkdtempSync(join(tmpdir(), "signet-lock-"));
    const file = join(own, "read-only.lock");
    writeFileSync(file, "", { mode: 0o400 });
    const isRoot = process.getuid?.() === 0;
    if (isRoot) for (const path of [own, file]) chownSync(path, nobody, nobody);
    const words = ["--input-type=module", "--eval", lockAsNobody, file];
    const { stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
    rmSync(own, { recursive: true });
    assert.match(stdout, /read-only\.lock cannot be locked: this user has no permission/);
  });

  it("works again once another program no longer uses the file", () => {
    const file = join(folder, "again.lock");
    const lock = new SqliteLock(file);
    writeFileSync(file, "a text that is no database");
    assert.throws(() => lock.lockShared(), /again\.lock cannot be locked: file is not a database/);
    truncateSync(file);
    assert.ok(lock.lockShared());
    lock.unlock();
    lock.release();
  });
});
