import assert from "node:assert/strict";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Hook } from "../../../src/agent/agent-settings.ts";
import { HookMemory } from "../../../src/agent/files/hook-memory.ts";
import { HookRunner } from "../../../src/agent/files/hook-runner.ts";
import { shellWord } from "../../../src/machinery/command-line/output/shell-word.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { VirtualTime } from "../virtual-time.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

/** A folder where hooks leave traces, and runners as a process makes one after each start. */
function scene() {
  const folder = temporaryFolder();
  const lines: string[] = [];
  const retries: number[] = [];
  const write = ({ retryInSeconds }: { retryInSeconds?: number }, message: string): void => {
    lines.push(message);
    if (retryInSeconds !== undefined) retries.push(retryInSeconds);
  };
  const log = { info: write, warn: write, error: write };
  const time = new VirtualTime(0);
  const out = join(folder, "out");
  const hookOf = (command: string, check?: string): Hook => ({ command, check, timeoutMilliseconds: 60_000 });
  return {
    folder,
    lines,
    /** The pauses in seconds that were logged. */
    retries,
    time,
    hookOf,
    traces: () => (existsSync(out) ? readFileSync(out, "utf8").split("\n").slice(0, -1) : []),
    trace: hookOf(`printf '%s|%s\\n' "$SIGNET_CHANGE" "$SIGNET_CHANGED_FILE" >> ${shellWord(out)}`),
    start: (logBytes: () => number | undefined = () => undefined) =>
      new HookRunner({
        memory: new HookMemory(folder, log),
        log,
        monotonic: time,
        random: () => 1,
        sleep: time.sleep,
        logBytes,
      }),
    idle: (runner: HookRunner) => eventually("all hooks have finished", () => runner.isIdle),
  };
}

/** Whether a process has a named pipe open for reading. */
function isPipeOpen(pipe: string): boolean {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch {
    return false; // ENXIO, or ENOENT
  }
}

describe("a hook", () => {
  it("runs one at a time, with the changed file in its environment, beside the agent's own, and not in its command", async (context) => {
    const { folder, start, idle, hookOf, trace, traces } = scene();
    const busy = join(folder, "busy");
    process.env["SIGNET_OF_AGENT"] = "yes";
    context.after(() => delete process.env["SIGNET_OF_AGENT"]);
    const hook = hookOf(
      `test "$SIGNET_OF_AGENT" = yes && test ! -e ${shellWord(busy)} && touch ${shellWord(busy)} && ${trace.command} && rm ${shellWord(busy)}`,
    );
    const runner = start();
    const hostile = `$(touch '${folder}/injected'); "x`;
    runner.changed({ change: "trust-bundle", file: hostile, digest: "a", hook });
    runner.changed({ change: "client-certificate", file: "/one", digest: "b", hook });
    runner.changed({ change: "client-certificate", file: "/one", digest: "b", hook });
    await idle(runner);
    assert.deepEqual(traces(), [`trust-bundle|${hostile}`, "client-certificate|/one"]);
    assert.ok(!existsSync(join(folder, "injected")));
  });

  it("that has finished runs again only for other contents or another command, even after a restart", async () => {
    const { start, idle, trace, hookOf, traces } = scene();
    const change = { change: "trust-bundle", file: "/f", hook: trace };
    for (const digest of ["a", "a", "b"]) {
      const runner = start();
      runner.changed({ ...change, digest });
      await idle(runner);
    }
    assert.equal(traces().length, 2);
    const runner = start();
    runner.changed({ ...change, digest: "b", hook: hookOf(`${trace.command}; true`) });
    await idle(runner);
    assert.equal(traces().length, 3);
  });

  it("runs again for contents that come back while it runs for others, also when it is killed then", async () => {
    const { folder, start, idle, trace, hookOf, time, traces } = scene();
    const held = join(folder, "held");
    const hook = hookOf(`${trace.command}; while test -e ${shellWord(held)}; do sleep 0.01; done`);
    const change = { change: "trust-bundle", file: "/f", hook };
    const runner = start();
    runner.changed({ ...change, digest: "a" });
    await idle(runner);
    writeFileSync(held, "");
    runner.changed({ ...change, digest: "b" });
    await eventually("the hook runs for b", () => traces().length === 2);
    runner.changed({ ...change, digest: "a" });
    rmSync(held);
    await idle(runner);
    assert.equal(traces().length, 3);
    writeFileSync(held, "");
    runner.changed({ ...change, digest: "b" });
    await eventually("the hook runs for b again", () => traces().length === 4);
    const stopped = runner.stop({ graceMilliseconds: 0 });
    await time.advance(1);
    await stopped;
    rmSync(held);
    const next = start();
    next.changed({ ...change, digest: "a" });
    await idle(next);
    assert.equal(traces().length, 5);
  });

  it("runs again for contents that come back before it has run for others: another hook may have shown those", async () => {
    const { folder, start, idle, trace, hookOf, traces } = scene();
    const held = join(folder, "held");
    const change = { change: "trust-bundle", file: "/f", hook: trace };
    const runner = start();
    runner.changed({ ...change, digest: "a" });
    await idle(runner);
    writeFileSync(held, "");
    const hook = hookOf(`while test -e ${shellWord(held)}; do sleep 0.01; done`);
    runner.changed({ change: "web-certificate", file: "/web", digest: "w", hook });
    runner.changed({ ...change, digest: "b" });
    runner.changed({ ...change, digest: "a" });
    rmSync(held);
    await idle(runner);
    assert.equal(traces().length, 2);
  });

  it("runs again for contents that come back while it runs for others that came while it ran for them", async () => {
    const { folder, start, idle, trace, hookOf, traces } = scene();
    const heldHook = (held: string): Hook => {
      writeFileSync(held, "");
      return hookOf(`${trace.command}; while test -e ${shellWord(held)}; do sleep 0.01; done`);
    };
    const [heldOne, heldOther] = [join(folder, "one"), join(folder, "other")];
    const one = { change: "trust-bundle", file: "/f", digest: "a", hook: heldHook(heldOne) };
    const runner = start();
    runner.changed(one);
    await eventually("the hook runs", () => traces().length === 1);
    runner.changed({ ...one, digest: "b", hook: heldHook(heldOther) });
    rmSync(heldOne);
    await eventually("the hook runs for the others", () => traces().length === 2);
    runner.changed(one);
    rmSync(heldOther);
    await idle(runner);
    assert.equal(traces().length, 3);
  });

  it("runs again for a file that was repaired while it ran, also when its runner ends before", async () => {
    const { folder, start, idle, trace, hookOf, traces } = scene();
    const held = join(folder, "held");
    writeFileSync(held, "");
    const hook = hookOf(`${trace.command}; while test -e ${shellWord(held)}; do sleep 0.01; done`);
    const change = { change: "trust-bundle", file: "/f", digest: "a", hook };
    const runner = start();
    runner.changed(change);
    await eventually("the hook runs", () => traces().length === 1);
    runner.repaired(change.file);
    runner.changed(change);
    const stopped = runner.stop({ graceMilliseconds: 4000 });
    rmSync(held);
    await stopped;
    assert.equal(traces().length, 1);
    const next = start();
    next.changed(change);
    await idle(next);
    assert.equal(traces().length, 2);
  });

  it("that fails is reported and run again later, and does not run while its check fails", async () => {
    const { folder, start, idle, trace, hookOf, lines, time, traces } = scene();
    const ready = join(folder, "ready");
    const runner = start();
    const hook = hookOf(trace.command, `test -e ${shellWord(ready)}`);
    const change = { change: "trust-bundle", file: "/f", digest: "a", hook };
    runner.changed(change);
    await eventually("the fault", () => runner.faults().length === 1);
    runner.changed(change); // as each check of the file says
    assert.deepEqual(runner.faults(), ["the hook for /f was not run, because its check ended with code 1"]);
    assert.match(lines[0] ?? "", /its check ended with code 1/);
    writeFileSync(ready, "");
    assert.deepEqual(traces(), []);
    await time.advance(10_000);
    await idle(runner);
    assert.equal(traces().length, 1);
  });

  it("that fails again and again is run less and less often", async () => {
    const { start, hookOf, time, retries } = scene();
    const runner = start();
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook: hookOf("false") });
    for (const [index, seconds] of [10, 20, 40].entries()) {
      await eventually("the failure", () => retries.length > index);
      assert.equal(retries.at(-1), seconds);
      await time.advance(seconds * 1000);
    }
    await runner.stop({ graceMilliseconds: 0 });
  });

  it("that the system cannot start is reported and run again later, and does not hold up the others", async () => {
    const { start, trace, hookOf, time, traces } = scene();
    const runner = start();
    // Linux takes 128 KiB for an argument; with too little memory, it is refused in the same way.
    const tooLong = hookOf(`true ${"x".repeat(2 ** 22)}`);
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook: tooLong });
    runner.changed({ change: "trust-bundle", file: "/g", digest: "a", hook: trace });
    await eventually("the other", () => traces().length === 1);
    assert.deepEqual(runner.faults(), ["the hook for /f could not be run: spawn E2BIG"]);
    runner.changed({ change: "trust-bundle", file: "/h", digest: "a", hook: trace });
    await eventually("one that comes while the first waits", () => traces().length === 2);
    runner.changed({ change: "trust-bundle", file: "/f", digest: "b", hook: trace });
    await time.advance(10_000);
    await eventually("the corrected one", () => traces().length === 3);
    await runner.stop({ graceMilliseconds: 0 });
  });

  it("that runs when its runner ends has time to finish", async () => {
    const { folder, start, hookOf, traces, trace } = scene();
    const [begun, held] = [join(folder, "begun"), join(folder, "held")];
    writeFileSync(held, "");
    const hook = hookOf(
      `touch ${shellWord(begun)}; while test -e ${shellWord(held)}; do sleep 0.01; done; ${trace.command}`,
    );
    const runner = start();
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook });
    await eventually("the hook runs", () => existsSync(begun));
    const stopped = runner.stop({ graceMilliseconds: 4000 });
    rmSync(held);
    await stopped;
    assert.equal(traces().length, 1);
    assert.ok(runner.isIdle);
  });

  it("whose check still runs when its runner ends is not begun", async () => {
    const { folder, start, hookOf, traces, trace } = scene();
    const [begun, held] = [join(folder, "begun"), join(folder, "held")];
    writeFileSync(held, "");
    const check = `touch ${shellWord(begun)}; while test -e ${shellWord(held)}; do sleep 0.01; done`;
    const runner = start();
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook: hookOf(trace.command, check) });
    await eventually("the check runs", () => existsSync(begun));
    const stopped = runner.stop({ graceMilliseconds: 4000 });
    rmSync(held);
    await stopped;
    assert.deepEqual(traces(), []);
  });

  it("that was interrupted by the end of its runner is run by the next one, and is no failure", async () => {
    const { folder, start, idle, hookOf, time, traces, trace, lines } = scene();
    const begun = join(folder, "begun");
    const hook = hookOf(`${trace.command}; test -e ${shellWord(begun)} || { touch ${shellWord(begun)}; sleep 60; }`);
    const change = { change: "trust-bundle", file: "/f", digest: "a", hook };
    const first = start();
    first.changed(change);
    await eventually("the hook runs", () => existsSync(begun));
    const stopped = first.stop({ graceMilliseconds: 4000 });
    await time.advance(4000);
    await stopped;
    assert.deepEqual(lines, []);
    const second = start();
    second.changed(change);
    await idle(second);
    assert.equal(traces().length, 2);
  });

  it("is killed when it takes too long", async () => {
    const { start, hookOf } = scene();
    const runner = start();
    const hook = { ...hookOf("sleep 60"), timeoutMilliseconds: 50 };
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook });
    await eventually("the fault", () => runner.faults().length === 1);
    assert.deepEqual(runner.faults(), ["the hook for /f was killed: it ran longer than 0.05 s"]);
    await runner.stop({ graceMilliseconds: 0 });
  });

  it("is killed with all its child processes", async () => {
    const { folder, start, hookOf, time } = scene();
    const runner = start();
    const pipe = join(folder, "pipe");
    // The child process has the pipe open as long as it lives. It does not keep the output of the tests open.
    const command = `mkfifo ${shellWord(pipe)}; sleep 600 <> ${shellWord(pipe)} 2> /dev/null & sleep 600`;
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook: hookOf(command) });
    await eventually("the child process lives", () => isPipeOpen(pipe));
    const stopped = runner.stop({ graceMilliseconds: 4000 });
    await time.advance(4000);
    await stopped;
    await eventually("the child process is gone", () => !isPipeOpen(pipe));
  });

  it("is killed when the file of the log grows by more than 16 MiB while it runs", async () => {
    const { start, hookOf } = scene();
    const sizes = [2 ** 30, 2 ** 30 + 2 ** 24];
    const runner = start(() => sizes.shift() ?? 2 ** 30 + 2 ** 24 + 1);
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook: hookOf("sleep 60") });
    await eventually("the fault", () => runner.faults().length === 1);
    assert.deepEqual(runner.faults(), ["the hook for /f was killed: it wrote more than 16 MiB into the log"]);
    assert.deepEqual(sizes, []);
    await runner.stop({ graceMilliseconds: 0 });
  });

  it("finishes where a folder is in the place of the record of finished hooks, and the log says to remove it", async () => {
    const { folder, start, idle, trace, lines } = scene();
    const file = join(folder, "hooks.json");
    mkdirSync(file);
    const runner = start();
    runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook: trace });
    await idle(runner);
    assert(lines.includes(`cannot record which hooks have finished: ${file} is a folder: remove it`));
  });

  it("runs again when the record of finished hooks is damaged or cannot be read", async () => {
    const { folder, start, idle, trace, traces } = scene();
    const file = join(folder, "hooks.json");
    const damages: readonly (() => void)[] = [
      () => writeFileSync(file, '{"/f": ', { mode: 0o600 }),
      () => writeFileSync(file, "{}", { mode: 0o644 }),
      () => symlinkSync(file, file), // root can read everything but this
    ];
    for (const [index, damage] of damages.entries()) {
      rmSync(file, { force: true });
      damage();
      const runner = start();
      runner.changed({ change: "trust-bundle", file: "/f", digest: "a", hook: trace });
      await idle(runner);
      assert.equal(traces().length, index + 1);
    }
  });
});
