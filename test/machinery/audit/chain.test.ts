import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { errorCode } from "../../../src/machinery/api/thrown-error.ts";
import { ChainLinks } from "../../../src/machinery/audit/chain/chain-links.ts";
import { verifyAuditChain } from "../../../src/machinery/audit/chain/verify-chain.ts";
import type { ChainReport } from "../../../src/machinery/audit/chain/verify-chain.ts";
import { fileTarget } from "../../../src/machinery/audit/file-target.ts";
import { AppendedFile } from "../../../src/machinery/files/lines/appended-file.ts";
import { SqliteLock } from "../../../src/machinery/files/locks/sqlite-lock.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const root = temporaryFolder();
const event = (index: number): string =>
  JSON.stringify({ kind: "Event", auditID: `é ${index}`, annotations: { a: "b" } });
const unannotated = '{"kind":"Event","annotations":{}}';

const checkpointMilliseconds = 50;

/** A log in a folder of its own, and the processes that write it. */
class Log {
  readonly folder = mkdtempSync(join(root, "log-"));
  readonly path = join(this.folder, "audit.log");
  readonly checkpointFile = join(this.folder, "checkpoint");
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly cuts: object[] = [];
  /** Why checkpoints were not kept. */
  readonly notKept: string[] = [];
  now = Date.parse("2026-11-22T12:00:00Z");
  /** Whether no process lives that has written. */
  areWritersGone = true;

  constructor(privateKey: KeyObject = generateKeyPairSync("ed25519").privateKey) {
    this.privateKey = privateKey;
    this.publicKey = createPublicKey(privateKey);
  }

  /** A process that writes. */
  open(maximumBytes = 0): AppendedFile {
    return new AppendedFile({
      path: this.path,
      lock: new SqliteLock(join(this.folder, "lock")),
      maximumBytes,
      now: () => this.now++,
      links: this.links(),
      onMoved: () => {},
    });
  }

  /** The links of a process that writes. */
  links(): ChainLinks {
    return new ChainLinks({
      privateKey: this.privateKey,
      checkpointFile: this.checkpointFile,
      checkpointMilliseconds,
      writers: { areGone: () => this.areWritersGone, join() {}, leave() {} },
      now: () => this.now,
      onCut: (cut) => this.cuts.push(cut),
      onNotKept: (error) => this.notKept.push(errorCode(error)),
    });
  }

  get files(): string[] {
    return readdirSync(this.folder)
      .filter((name) => /\.log(\.gz)?$/.test(name))
      .map((name) => join(this.folder, name));
  }

  verify(files: readonly string[] = this.files, checkpoint?: string): Promise<ChainReport> {
    return verifyAuditChain({ files, publicKey: this.publicKey, checkpoint });
  }

  get checkpoint(): string {
    return readFileSync(this.checkpointFile, "utf8").trimEnd();
  }
}

/** Several processes, rotation, a crash, and a clean end. */
async function writtenLog(log = new Log()): Promise<Log> {
  const processes = [log.open(4000), log.open(4000)];
  for (let index = 0; index < 12; index++) {
    await processes[index % 2]?.append(index % 3 === 0 ? [event(index), unannotated] : [event(index)]);
    log.now += 20;
  }
  // Two of them crash: nothing is closed. The next one ends well.
  const next = log.open(4000);
  await next.append([event(100)]);
  next.close();
  return log;
}

/** A checkpoint, or a text that ends with one, whose signature begins with another digit. */
const forged = (text: string): string =>
  text.replace(/"([0-9a-f])([0-9a-f]{127})"\}\}$/, (_, digit: string, rest: string) => {
    return `"${digit === "0" ? "1" : "0"}${rest}"}}`;
  });

describe("a chained log", () => {
  let log: Log;
  let files: string[];
  before(async () => {
    log = await writtenLog();
    ({ files } = log);
  });

  it("verifies across rotation, processes and restarts, in any order of its files, compressed or not", async () => {
    assert.ok(files.length > 2, "it was rotated");
    const report = await log.verify(files.toReversed(), log.checkpoint);
    assert.deepEqual(report.faults, []);
    assert.equal(report.files[0]?.first, 1);
    assert.equal(report.signedUntil, report.files.at(-1)?.last);
    assert.ok(report.checkpoints >= files.length * 2);
    const [begin = ""] = readFileSync(report.files[1]?.file ?? "", "utf8").split("\n");
    assert.deepEqual((await log.verify(files, begin)).faults, [], "it has reached an older checkpoint");
    const withoutKey = await verifyAuditChain({ files, publicKey: undefined, checkpoint: log.checkpoint });
    assert.deepEqual(withoutKey.faults, []);
    const packed = join(log.folder, "packed.gz");
    writeFileSync(packed, gzipSync(readFileSync(files[0] ?? "")));
    assert.deepEqual(await log.verify([packed, ...files.slice(1)]).then(({ faults }) => faults), []);
    rmSync(packed);
  });

  it("keeps its events as they are, besides their annotations", () => {
    const lines = files.flatMap((file) => readFileSync(file, "utf8").trimEnd().split("\n"));
    const events = lines.map((line) => JSON.parse(line) as { auditID: string; annotations: Record<string, string> });
    const found = events.find(({ auditID }) => auditID === "é 4");
    assert.equal(found?.annotations["a"], "b");
    assert.match(found?.annotations["chain.signet.platform.io/sequence"] ?? "", /^\d+$/);
  });

  it("fails verification when a line is deleted, doubled, moved or changed, or anything is cut off", async () => {
    const originals = new Map(files.map((file) => [file, readFileSync(file)]));
    const mutated = join(log.folder, "mutated");
    const position = fc.nat();
    const mutation = fc.record({
      file: fc.nat(files.length - 1),
      how: fc.constantFrom("delete", "double", "move", "change", "cut", "insert"),
      position,
      byte: fc.nat(255),
    });
    await fc.assert(
      fc.asyncProperty(mutation, async ({ file: at, how, position: place, byte }) => {
        const file = files[at] ?? "";
        const original = originals.get(file) ?? Buffer.alloc(0);
        const changed = mutate(original, { how, place, byte });
        fc.pre(!changed.equals(original));
        writeFileSync(mutated, changed);
        const { faults } = await log.verify([...files.filter((one) => one !== file), mutated], log.checkpoint);
        assert.notEqual(faults.length, 0, `${how} at ${place} in ${file}`);
      }),
      { numRuns: 120 },
    );
  });

  it("fails verification when a checkpoint has another signature, though nothing follows that would show it", async () => {
    const newest = (await log.verify(files)).files.at(-1)?.file ?? "";
    const forgedFile = join(log.folder, "forged");
    writeFileSync(forgedFile, `${forged(readFileSync(newest, "utf8").trimEnd())}\n`);
    const { faults } = await log.verify([...files.filter((one) => one !== newest), forgedFile]);
    rmSync(forgedFile);
    assert.equal(faults.length, 1, faults.join());
    assert.match(faults[0] ?? "", /is a checkpoint that is not signed by the key$/);
  });

  it("fails verification with a checkpoint that is forged, is none, or is of another log with the same key", async () => {
    const faultsWith = async (checkpoint: string) => (await log.verify(files, checkpoint)).faults;
    const unsigned = ["the given checkpoint is not signed by the key"];
    assert.deepEqual(await faultsWith(forged(log.checkpoint)), unsigned);
    assert.deepEqual(await faultsWith(event(1)), unsigned);
    const other = new Log(log.privateKey);
    other.now += 1;
    const [fault = ""] = await faultsWith((await writtenLog(other)).checkpoint);
    assert.match(fault, /^line \d+ of the chain is not the given checkpoint$/);
  });

  it("fails verification when lines are missing at the beginning of its oldest file", async () => {
    const oldest = join(log.folder, "oldest");
    const [first = "", ...others] = (await log.verify(files)).files.map(({ file }) => file);
    const lines = readFileSync(first, "utf8").split("\n");
    writeFileSync(oldest, lines.slice(2).join("\n"));
    const { faults } = await log.verify([oldest, ...others]);
    rmSync(oldest);
    assert.match(faults.join(), /is not the beginning of a file: lines before it are missing/);
  });

  it("fails verification when a file is missing, doubled or replaced", async () => {
    for (const file of files.slice(1)) {
      const { faults } = await log.verify(
        files.filter((one) => one !== file),
        log.checkpoint,
      );
      assert.notEqual(faults.length, 0, file);
    }
    // Old files may be gone: the report says where the log begins.
    const younger = await log.verify(files.toSorted().slice(1), log.checkpoint);
    assert.ok((younger.files[0]?.first ?? 0) > 1);
    assert.deepEqual(younger.faults, []);
    const emptied = join(log.folder, "emptied");
    writeFileSync(emptied, "");
    const { last } = younger.files.at(-1) ?? {};
    assert.deepEqual((await log.verify([emptied], log.checkpoint)).faults, [
      `${emptied}: has no lines`,
      `the end is missing: lines 1 to ${last} were written too`,
    ]);
    rmSync(emptied);
    const other = await writtenLog();
    const forged = await log.verify(other.files);
    assert.match(forged.faults[0] ?? "", /line 1 is a checkpoint that is not signed by the key$/);
  });

  it("shows which lines no checkpoint covers, and which got theirs only after a crash", async () => {
    const own = new Log();
    const crashing = own.open();
    await crashing.append([event(1), event(2)]);
    const unsigned = await own.verify();
    assert.deepEqual([unsigned.faults, unsigned.signedUntil, unsigned.files[0]?.last], [[], 1, 3]);
    const next = own.open();
    await next.append([event(3)]);
    next.close();
    const report = await own.verify();
    assert.deepEqual([report.faults, report.signedLate], [[], ["2 to 3"]]);
    assert.equal(report.signedUntil, report.files[0]?.last);
  });

  it("shows what was signed only after a crash also where the next process moves the file away at once", async () => {
    const own = new Log();
    await own.open().append([event(1), event(2)]);
    const next = own.open(100);
    await next.append([event(3)]);
    next.close();
    const report = await own.verify();
    assert.ok(report.files.length > 1, "it was moved away");
    assert.deepEqual([report.faults, report.signedLate], [[], ["2 to 3"]]);
    assert.equal(report.signedUntil, report.files.at(-1)?.last);
  });

  it("takes the lines of a process that lives for none of a crash, when another one begins to write", async () => {
    const own = new Log();
    const [first, second] = [own.open(), own.open()];
    await first.append([event(1), event(2)]);
    own.areWritersGone = false;
    await second.append([event(3)]);
    first.close();
    second.close();
    const report = await own.verify();
    assert.deepEqual([report.faults, report.signedLate], [[], []]);
    assert.equal(report.signedUntil, report.files[0]?.last);
  });

  it("is one chain of several processes where logrotate moves its file away", async () => {
    const own = new Log();
    const [first, second] = [own.open(), own.open()];
    const moveTo = (name: string): void => renameSync(own.path, join(own.folder, name));
    await second.append([event(1)]);
    await first.append([event(2)]);
    moveTo("1.log");
    await second.append([event(3)]);
    assert.equal(first.isMoved, true);
    await first.append([]); // as each process does now and then
    assert.equal(first.isMoved, false);
    await second.append([event(4)]);
    moveTo("2.log");
    await first.append([event(5)]);
    first.close();
    second.close();
    const report = await own.verify();
    assert.deepEqual([report.faults, report.files.length], [[], 3]);
  });

  it("goes on in a new file where logrotate moves its file away, also while its process has no events", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const own = new Log();
    const target = fileTarget({
      path: own.path,
      lockFile: join(own.folder, "lock"),
      tidyLockFile: join(own.folder, "tidy-lock"),
      maximumBytes: 0,
      maximumBackups: 0,
      maximumAgeMilliseconds: 0,
      isCompressed: false,
      chain: { links: own.links(), checkpointMilliseconds },
      clock: { now: () => own.now },
      monotonic: { now: () => own.now },
      onTidyFailure: (error) => assert.fail(String(error)),
    });
    own.now += checkpointMilliseconds; // so that the event is signed at once
    await target.deliver([event(1)]);
    renameSync(own.path, join(own.folder, "1.log"));
    t.mock.timers.tick(checkpointMilliseconds);
    await new Promise(setImmediate);
    assert.ok(existsSync(own.path));
    await target.close();
    assert.deepEqual((await own.verify()).faults, []);
  });

  it("is not cut for a process that writes for the first time when another has gone on behind a moved file", async () => {
    const own = new Log();
    const [first, second] = [own.open(), own.open()];
    await first.append([event(1)]);
    renameSync(own.path, join(own.folder, "1.log"));
    await first.append([event(2)]);
    await second.append([event(3)]);
    first.close();
    second.close();
    assert.deepEqual([own.cuts, (await own.verify()).faults], [[], []]);
  });

  it("without the kept checkpoint does not show that its end is missing from a checkpoint on", async () => {
    const own = new Log();
    const file = own.open();
    for (let index = 0; index < 3; index++) {
      own.now += 100;
      await file.append([event(index)]);
    }
    file.close();
    const lines = readFileSync(own.path, "utf8").trimEnd().split("\n");
    const cut = join(own.folder, "cut");
    writeFileSync(cut, `${lines.slice(0, 3).join("\n")}\n`);
    assert.deepEqual((await own.verify([cut])).faults, []);
    assert.deepEqual((await own.verify([cut], own.checkpoint)).faults, [
      `the end is missing: lines 4 to ${lines.length} were written too`,
    ]);
  });

  it("has each line once where its newest checkpoint cannot be kept, and keeps the next one that can", async () => {
    const own = new Log();
    const writer = own.open();
    mkdirSync(`${own.checkpointFile}.new`);
    await writer.append([event(1)]);
    own.now += 50;
    await writer.append([event(2)]);
    assert.deepEqual(own.notKept, ["EISDIR", "EISDIR"]);
    rmdirSync(`${own.checkpointFile}.new`);
    own.now += 50;
    await writer.append([event(3)]);
    const events = readFileSync(own.path, "utf8").match(/"auditID":"é \d"/g);
    assert.deepEqual(events, ['"auditID":"é 1"', '"auditID":"é 2"', '"auditID":"é 3"']);
    assert.deepEqual(await own.verify(own.files, own.checkpoint).then(({ faults }) => faults), []);
  });

  it("that lost its end fails verification even when more lines follow", async () => {
    const own = new Log();
    const file = own.open();
    await file.append([event(1), event(2)]);
    file.close();
    const whole = readFileSync(own.path, "utf8");
    writeFileSync(own.path, `${whole.split("\n").slice(0, 2).join("\n")}\n`);
    const next = own.open();
    await next.append([event(3)]);
    next.close();
    assert.deepEqual(own.cuts, [{ expected: 4, found: 2 }]);
    assert.equal(own.files.length, 2, "what comes next is in another file");
    const { faults } = await own.verify(own.files, own.checkpoint);
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", /comes after lines that are missing: 3 to 4$/);
  });

  it("is continued after a clean end, unless its last line was replaced", async () => {
    const own = new Log();
    const write = async (): Promise<void> => {
      const file = own.open();
      await file.append([event(1)]);
      file.close();
    };
    await write();
    await write();
    assert.deepEqual([own.cuts, own.files.length], [[], 1]);
    const { last } = (await own.verify()).files[0] ?? {};
    writeFileSync(own.path, `${forged(readFileSync(own.path, "utf8").trimEnd())}\n`);
    await write();
    assert.deepEqual([own.cuts, own.files.length], [[{ expected: last, found: last }], 2]);
  });

  it("is signed after a thousand lines, however fast they came", async () => {
    const own = new Log();
    const file = own.open();
    await file.append(Array.from({ length: 999 }, (_, index) => event(index)));
    assert.equal((await own.verify()).signedUntil, 1);
    await file.append([event(1000)]);
    assert.equal((await own.verify()).signedUntil, 1002);
    file.close();
  });

  it("may begin after lines of another kind, or after a line that a crash has cut", async () => {
    const own = new Log();
    appendFileSync(own.path, "an older log without a chain\n", { mode: 0o600 });
    const file = own.open();
    await file.append([event(1)]);
    appendFileSync(own.path, '{"torn');
    const next = own.open();
    await next.append([event(2)]);
    next.close();
    assert.deepEqual((await own.verify([own.path])).faults, []);
    assert.equal(own.files.length, 2);
    assert.equal(statSync(own.checkpointFile).mode & 0o777, 0o600);
  });
});

interface Mutation {
  readonly how: string;
  readonly place: number;
  readonly byte: number;
}

function mutate(original: Buffer, { how, place, byte }: Mutation): Buffer {
  const at = place % original.length;
  if (how === "change") return Buffer.concat([original.subarray(0, at), Buffer.of(byte), original.subarray(at + 1)]);
  if (how === "insert") return Buffer.concat([original.subarray(0, at), Buffer.of(byte), original.subarray(at)]);
  if (how === "cut") return original.subarray(0, at);
  const lines = original.toString("utf8").split(/(?<=\n)/);
  const index = place % lines.length;
  if (how === "delete") lines.splice(index, 1);
  else if (how === "double") lines.splice(index, 0, lines[index] ?? "");
  else lines.push(...lines.splice(index, 1));
  return Buffer.from(lines.join(""));
}
