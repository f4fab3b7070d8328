import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { FailureLog } from "../../src/agent/failure-log.ts";
import { HookMemory } from "../../src/agent/hook-memory.ts";
import { HookRunner } from "../../src/agent/hook-runner.ts";
import { formatKeyPair } from "../../src/agent/key-pair.ts";
import { PublishedCertificate } from "../../src/agent/published-certificate.ts";
import { logTo } from "./log-to.ts";
import { newPair } from "./new-pair.ts";
import { VirtualTime } from "./virtual-time.ts";

/** A certificate with the files `one.pem` and `two.pem`. */
function scene(context: TestContext) {
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
      hook: undefined,
      hooks: new HookRunner({
        memory: new HookMemory(folder, log),
        log,
        monotonic: time,
        random: () => 0,
        sleep: time.sleep,
      }),
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
    restart: () => start().publish(),
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
      /^files change between two looks: something else writes [^ ]*one\.pem too: does another agent have the same files\?/,
    );
    await time.advance(60_000);
    assert.deepEqual(outages(), []);
    const messages = lines.map(([message]) => message);
    assert.equal(messages.filter((message) => message.includes("something else writes")).length, 1);
    assert.equal(messages.at(-1), "only this agent writes its files now");
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
