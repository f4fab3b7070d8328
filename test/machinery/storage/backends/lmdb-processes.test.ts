import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { closeEnvironment, openEnvironment } from "../../../../src/machinery/storage/backends/lmdb-environment.ts";
import type { LmdbEnvironment } from "../../../../src/machinery/storage/backends/lmdb-environment.ts";
import { WriteQueue } from "../../../../src/machinery/storage/backends/lmdb-write-queue.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { StoreUnavailable } from "../../../../src/machinery/storage/store.ts";
import { eventually } from "../../../end-to-end/eventually.ts";
import { put, takeChanges } from "../store-contract.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";
import { everyKey } from "../../../../src/machinery/storage/key-range.ts";

const peer = join(import.meta.dirname, "lmdb-peer.ts");
const environmentModule = import.meta.resolve("../../../../src/machinery/storage/backends/lmdb-environment.ts");
const run = async (directory: string, name: string, count: number): Promise<string> =>
  (await promisify(execFile)(process.execPath, [peer, directory, name, String(count)])).stdout;

describe("several processes on one LMDB file", () => {
  it("share one revision sequence without a lost write, a gap or a doubled change", async () => {
    const directory = temporaryFolder();
    const store = new LmdbStore({ directory, profile: "platform" });
    try {
      const seen: number[] = [];
      const watch = store.watch({
        afterRevision: 1,
        onChanges: (changes) => void seen.push(...changes.map(({ revision }) => revision)),
        onEnd: assert.ifError,
      });
      const own = (async (): Promise<void> => {
        for (let index = 0; index < 60; index++) await put(store, `/own/${index}`, "own");
      })();
      const reports = await Promise.all([run(directory, "one", 60), run(directory, "two", 60), own]);

      const latest = store.latestRevision();
      assert.equal(latest, 1 + 60 + 2 * (60 + 60));
      const { entries } = await store.range(everyKey);
      assert.equal(entries.length, 60 * 3 + 1);
      assert.equal(entries.find(({ key }) => key === "/counter")?.value.toString(), "120");

      await eventually("the watch has every change", () => {
        store.catchUp(); // as the server does when another process has written
        return seen.length >= latest - 1;
      });
      watch.stop();
      const revisions = Array.from({ length: latest - 1 }, (_, index) => index + 2);
      assert.deepEqual(seen, revisions);
      for (const report of reports.slice(0, 2)) {
        const theirs: unknown = JSON.parse(String(report));
        assert.ok(Array.isArray(theirs));
        assert.deepEqual(theirs, revisions.slice(0, theirs.length));
      }
    } finally {
      await store.close();
    }
  });

  it("see each other's writes as soon as they look", async () => {
    const directory = temporaryFolder();
    const store = new LmdbStore({ directory, profile: "platform" });
    try {
      const changes = takeChanges(store, { afterRevision: 1, count: 2 });
      await run(directory, "one", 1);
      assert.equal(store.latestRevision(), 3);
      store.catchUp();
      assert.deepEqual(
        (await changes).map(({ key }) => key),
        ["/one/0", "/counter"],
      );
    } finally {
      await store.close();
    }
  });

  it("reuse pages again after a compaction when one was killed while it read", async () => {
    const directory = temporaryFolder();
    const store = new LmdbStore({ directory, profile: "platform" });
    const environment = openEnvironment({ directory, profile: "platform" });
    try {
      await put(store, "/a", "1");
      const killed = `
        import { openEnvironment } from "${environmentModule}";
        openEnvironment({ directory: ${JSON.stringify(directory)}, profile: "platform" });
        process.kill(process.pid, "SIGKILL");`;
      // Not spawnSync: the commit's lock ends on a timer of this process, and the other one waits for it.
      const reader = spawn(process.execPath, ["--input-type=module", "--eval", killed]);
      assert.deepEqual(await once(reader, "exit"), [null, "SIGKILL"]);
      const readers = (): string => environment.root.readerList();
      assert.match(readers(), new RegExp(`^ *${reader.pid} .* \\d+$`, "mu"));
      await store.compact(store.latestRevision());
      assert.doesNotMatch(readers(), new RegExp(`^ *${reader.pid} `, "mu"));
    } finally {
      await closeEnvironment(environment);
      await store.close();
    }
  });

  it("lose nothing that was acknowledged when one is killed", async () => {
    const directory = temporaryFolder();
    const child = spawn(process.execPath, [join(import.meta.dirname, "lmdb-victim.ts"), directory]);
    let printed = "";
    for await (const chunk of child.stdout) {
      printed += String(chunk);
      if (printed.length > 3000) child.kill("SIGKILL");
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    assert.equal(child.signalCode, "SIGKILL");

    const store = new LmdbStore({ directory, profile: "platform" });
    const acknowledged = printed.slice(0, printed.lastIndexOf("\n")).split("\n");
    const { entries } = await store.range(everyKey);
    const found = new Map(entries.map(({ key, value, modRevision }) => [`${key} ${modRevision}`, value]));
    for (const line of acknowledged) assert.equal(found.get(line)?.length, 5000, line);
    const changes = await takeChanges(store, { afterRevision: 1, count: store.latestRevision() - 1 });
    assert.deepEqual(
      changes.map(({ revision }) => revision),
      changes.map((_change, index) => index + 2),
    );
    assert.equal(await put(store, "/after", "1"), changes.length + 2);
    await store.close();
  });
});

/** Fills the places for readers in LMDB's lock file with copies of the first one: 64 bytes each, from 208 on. Their number is at 16. */
const fillReaders = `
import { readFileSync, openSync, writeSync } from "node:fs";
const [file] = process.argv.slice(1);
const bytes = readFileSync(file);
const count = Math.floor((bytes.length - 208) / 64);
for (let place = 1; place < count; place++) bytes.copyWithin(208 + place * 64, 208, 208 + 64);
bytes.writeUInt32LE(count, 16);
const descriptor = openSync(file, "r+");
writeSync(descriptor, bytes, 208, count * 64, 208);
writeSync(descriptor, bytes, 16, 4, 16);`;

const isLinux = { skip: process.platform !== "linux" && "LMDB's lock file has another form" };

describe("a store that as many processes have open as LMDB has places for", isLinux, () => {
  it("is refused with an error that does not call it damaged", async () => {
    const directory = temporaryFolder();
    const store = new LmdbStore({ directory, profile: "platform" });
    try {
      const revision = store.latestRevision();
      const lock = join(directory, "store.mdb-lock");
      await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", fillReaders, lock]);
      await assert.rejects(run(directory, "one", 1), /Error: too many processes have the store open; end some of them/);
      assert.equal(store.latestRevision(), revision);
    } finally {
      await store.close();
    }
  });
});

/** Opens the store in two ways. Prints what is found, or why each fails. */
const openTwice = `
import { openEnvironment, storedProfile } from "${environmentModule}";
const [directory] = process.argv.slice(1);
for (const open of [() => storedProfile(directory), () => openEnvironment({ directory, profile: "platform" }).directory]) {
  try {
    console.log(open());
  } catch (error) {
    console.log(error.message);
  }
}`;

/** Gives the first reader in LMDB's lock file the number of this process, as a killed process had it, and opens the store. */
const openWithNumberOfKilled = `
import { openSync, writeSync } from "node:fs";
const number = Buffer.alloc(4);
number.writeUInt32LE(process.pid);
writeSync(openSync(process.argv[1] + "/store.mdb-lock", "r+"), number, 0, 4, 208 + 8);
${openTwice}`;

/** Holds the store open until its input ends. */
const holdOpen = `
import { openEnvironment } from "${environmentModule}";
openEnvironment({ directory: process.argv[1], profile: "platform" });
console.log("open");
process.stdin.resume();`;

/** Node.js as the first process of a container. */
const inContainer = (script: string, directory: string): string[] => [
  ...["--user", "--map-root-user", "--pid", "--fork", "--kill-child"],
  ...[process.execPath, "--input-type=module", "--eval", script, directory],
];
const mayUnshare = spawnSync("unshare", inContainer("", "")).status === 0;

describe("a store that a process of another container has open, with the number of this one", () => {
  const isPossible = { skip: !mayUnshare && "this user can't have processes of the same number" };

  it("is refused at once, in words that say where to run the command, and stays open there", isPossible, async () => {
    const directory = temporaryFolder();
    await new LmdbStore({ directory, profile: "platform" }).close();
    const holder = spawn("unshare", inContainer(holdOpen, directory), { stdio: ["pipe", "pipe", "inherit"] });
    try {
      await once(holder.stdout, "data");
      const { stdout, stderr } = await promisify(execFile)("unshare", inContainer(openTwice, directory));
      assert.equal(stderr, "");
      const refusal =
        /^a process of another container, which has the same number \(1\) as this one, has the store open: run /u;
      const lines = stdout.trim().split("\n");
      assert.equal(lines.length, 2);
      for (const line of lines) assert.match(line, refusal);
      assert.equal(holder.exitCode, null);
    } finally {
      holder.stdin.end();
      await once(holder, "exit");
    }
  });
});

describe("a store that a killed process had open, with the number of this one", isLinux, () => {
  it("opens while others have it open, as for a server that is the first process of its container again", async () => {
    const directory = temporaryFolder();
    const store = new LmdbStore({ directory, profile: "platform" });
    try {
      await put(store, "/a", "1");
      const words = ["--input-type=module", "--eval", openWithNumberOfKilled, directory];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, words);
      assert.equal(stderr, "");
      assert.equal(stdout, `platform\n${directory}\n`);
    } finally {
      await store.close();
    }
  });
});

describe("a batch of writes that always loses to other processes", () => {
  it("is refused in the end, after several retries with pauses", async () => {
    const directory = temporaryFolder();
    const environment = openEnvironment({ directory, profile: "platform" });
    try {
      let pauses = 0;
      let losses = 0;
      const queue = new WriteQueue({
        environment: { ...environment, meta: losing(environment.meta) },
        entryOf: () => undefined,
        onCommitted: () => assert.fail("it cannot be written"),
        onNotWritten: () => losses++,
        pause: async () => void pauses++,
      });
      const write = queue.add([{ key: "/a", value: Buffer.of(1), expectedRevision: 0 }]);
      await assert.rejects(write, { name: StoreUnavailable.name, message: /other processes write to it/ });
      assert.ok(pauses > 100);
      assert.ok(losses > pauses, "it tells of each loss: watches may wait for what the others wrote");
      assert.equal(queue.committingRevision, undefined);
    } finally {
      await closeEnvironment(environment);
    }
  });
});

/** A database whose records have always another version than was expected. */
const losing = (meta: LmdbEnvironment["meta"]): LmdbEnvironment["meta"] =>
  new Proxy(meta, {
    get: (target, name): unknown =>
      name === "ifVersion"
        ? async () => false
        : name === "getBinaryFast"
          ? target.getBinaryFast.bind(target)
          : undefined,
  });

describe("an LMDB store that may not grow", () => {
  it("refuses writes as unavailable, writes nothing in part, and stays readable", async () => {
    const directory = temporaryFolder();
    // In blocks of 512 bytes. It is not bash, which warns of a locale that the machine lacks.
    const limit = 'ulimit -f 8000; exec "$0" "$@"';
    const script = join(import.meta.dirname, "lmdb-full.ts");
    const words = ["-c", limit, process.execPath, script, directory];
    const { stdout, stderr } = await promisify(execFile)("sh", words);
    assert.equal(stderr, "", "lmdb prints nothing of its own");
    const report: unknown = JSON.parse(stdout);
    assert.ok(typeof report === "object" && report !== null && "written" in report && "refusals" in report);
    assert.deepEqual(report.refusals, [StoreUnavailable.name]);
    const store = new LmdbStore({ directory, profile: "platform" });
    assert.deepEqual(
      (await store.range(everyKey)).entries.map(({ key }) => key),
      report.written,
    );
    assert.equal(await put(store, "/later", "1"), store.latestRevision());
    await store.close();
  });
});
