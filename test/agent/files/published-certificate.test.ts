import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { FailureLog } from "../../../src/agent/failure-log.ts";
import { HookMemory } from "../../../src/agent/files/hook-memory.ts";
import { HookRunner } from "../../../src/agent/files/hook-runner.ts";
import { formatKeyPair } from "../../../src/agent/certificates/key-pair.ts";
import { PublishedCertificate } from "../../../src/agent/files/published-certificate.ts";
import { shellWord } from "../../../src/machinery/command-line/output/shell-word.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { logTo } from "../log-to.ts";
import { newPair } from "../new-pair.ts";
import { VirtualTime } from "../virtual-time.ts";

/** A certificate with the files `one.pem` and `two.pem`. Its hook leaves a trace. */
function scene(context: TestContext, { hasHook = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "signet-published-"));
  const stopping = new AbortController();
  context.after(() => {
    stopping.abort();
    rmSync(folder, { recursive: true });
  });
  const time = new VirtualTime(0);
  const lines: [message: string, fields: object][] = [];
  const log = logTo((fields, message) => void lines.push([message, fields]));
  const failureLogs: FailureLog[] = [];
  let pair = newPair();
  let restore = (): void => {};
  const trace = join(folder, "trace");
  const hook = { command: `echo run >> ${shellWord(trace)}`, check: undefined, timeoutMilliseconds: 60_000 };
  const startHooks = (): HookRunner =>
    new HookRunner({ memory: new HookMemory(folder, log), log, monotonic: time, random: () => 0, sleep: time.sleep });
  let hooks = startHooks();
  const start = (): PublishedCertificate =>
    new PublishedCertificate({
      name: "web",
      current: () => pair,
      file: join(folder, "own.pem"),
      restore: () => restore(),
      outputs: ["one", "two"].map((name) => ({
        type: "pem",
        file: join(folder, `${name}.pem`),
        ownership: { mode: 0o600 },
      })),
      hook: hasHook ? hook : undefined,
      hooks,
      failureLog(texts) {
        const made = new FailureLog({ ...texts, log, monotonic: time });
        failureLogs.push(made);
        return made;
      },
      sleep: time.sleep,
      log,
    });
  const published = start();
  void published.run(stopping.signal);
  return {
    published,
    restart(): void {
      hooks = startHooks();
      start().publish();
    },
    /** How often the hook has run, after all that has happened. */
    async runs(): Promise<number> {
      await eventually("the hook has finished", () => hooks.isIdle);
      return readFileSync(trace, "utf8").split("\n").length - 1;
    },
    lines,
    outages: () => failureLogs.flatMap(({ present }) => present ?? []),
    time,
    onRestore: (called: () => void) => void (restore = called),
    fileOf: (name: string) => join(folder, `${name}.pem`),
    renew(): void {
      pair = newPair();
      published.publish();
    },
    isCurrent: (name: string) => readFileSync(join(folder, `${name}.pem`), "utf8") === formatKeyPair(pair),
  };
}

describe("the files of a renewed certificate", () => {
  it("are written although one of them cannot be, and the fault names that one", (context) => {
    const { published, fileOf, renew, isCurrent } = scene(context);
    rmSync(fileOf("one"));
    mkdirSync(fileOf("one"));
    renew();
    assert.ok(isCurrent("two"));
    assert.match(published.fault ?? "", /^[^;]*one\.pem is a folder[^;]*; name a file$/);
  });

  it("are looked at every minute, and so is the agent's own, whose fault does not hold back the others", async (context) => {
    const { published, time, fileOf, isCurrent, onRestore } = scene(context);
    onRestore(() => {
      throw new Error("the disk is full");
    });
    rmSync(fileOf("one"));
    await time.advance(60_000);
    assert.ok(isCurrent("one"));
    assert.equal(published.fault, "the disk is full");
  });

  it("are in the log whenever they are written, and not when a start finds them as they should be", async (context) => {
    const { time, fileOf, lines, restart } = scene(context);
    const both = ["the files are written", { certificate: "web", files: [fileOf("one"), fileOf("two")] }];
    assert.deepEqual(lines, [both]);
    restart();
    assert.deepEqual(lines, [both]);
    rmSync(fileOf("two"));
    await time.advance(60_000);
    const again =
      "somebody has removed or changed these files, their mode or their owner: they are written again as the settings say";
    assert.deepEqual(lines, [both, [again, { files: [fileOf("two")] }]]);
  });

  it("are said to be written by something else too, while each look finds them changed", async (context) => {
    const { time, fileOf, lines, outages, renew, isCurrent } = scene(context);
    const other = async (): Promise<void> => {
      writeFileSync(fileOf("one"), formatKeyPair(newPair()), { mode: 0o600 });
      await time.advance(60_000);
      assert.ok(isCurrent("one"));
    };
    await other();
    renew();
    assert.deepEqual(outages(), []);
    for (let look = 0; look < 5; look++) await other();
    assert.match(
      outages().join(),
      /^files change between two looks: something else writes .*one\.pem too: does another agent have the same files\?/,
    );
    await time.advance(60_000);
    assert.deepEqual(outages(), []);
    const messages = lines.map(([message]) => message);
    assert.equal(messages.filter((message) => message.includes("something else writes")).length, 1);
    assert.equal(messages.at(-1), "only this agent writes its files now");
  });

  it("let their hook run again when they are repaired, as a program may have read them, but not at each look", async (context) => {
    const { time, fileOf, runs, restart } = scene(context, { hasHook: true });
    const tamper = (): void => writeFileSync(fileOf("two"), formatKeyPair(newPair()));
    assert.equal(await runs(), 1);
    tamper();
    await time.advance(60_000);
    assert.equal(await runs(), 2);
    for (let look = 0; look < 3; look++) {
      tamper();
      await time.advance(60_000);
    }
    assert.equal(await runs(), 2);
    await time.advance(60_000);
    tamper();
    await time.advance(60_000);
    assert.equal(await runs(), 3);
    restart();
    assert.equal(await runs(), 3);
    tamper();
    restart();
    assert.equal(await runs(), 4);
  });

  it("are written ten seconds after they could not be", async (context) => {
    const { published, time, fileOf, renew, isCurrent } = scene(context);
    rmSync(fileOf("two"));
    mkdirSync(fileOf("two"));
    renew();
    assert.match(published.fault ?? "", /two\.pem is a folder/);
    rmdirSync(fileOf("two"));
    await time.advance(10_000);
    assert.ok(isCurrent("two"));
    assert.equal(published.fault, undefined);
  });
});
