import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { repeatConcurrently } from "../../../bench/load/repeat-concurrently.ts";
import { startTestServerProcess } from "../../test-server-process.ts";
import type { ServerProcess } from "../../../bench/processes/server-process.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { openDecryptedStore } from "../../../src/server/encryption/decrypted-store.ts";
import { surveyEncryption } from "../../../src/server/encryption/stored-encryption.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { ProgramProcess } from "../../end-to-end/program-process.ts";
import { SignetProcess } from "../../end-to-end/signet-process.ts";
import { clientOf } from "../../reliability/client-of.ts";
import { LedgerWriter } from "../../reliability/ledger-writer.ts";
import { SeededRandom } from "../../reliability/seeded-random.ts";
import { WatchFollower } from "../../reliability/watch-follower.ts";
import { resourceReferences } from "../../resource-references.ts";

const { secrets } = resourceReferences(namesFor("platform"));
/** Only `signet encryption` changes these Secrets. */
const quiet = "quiet";
/** Four transactions of a rewrite, or more. */
const quietSecrets = 400;
const writtenAtOnce = 100;
const busy = "default";
const password = (index: number): string => Buffer.from(`password ${index}`).toString("base64");

describe("signet encryption, beside two workers on one store", { timeout: 200_000 }, () => {
  const scratch = mkdtempSync(join(tmpdir(), "signet-rewrite-"));
  const dataDirectory = join(scratch, "data");
  const keyFile = join(dataDirectory, "encryption.key");
  let server: ServerProcess;
  /** The kernel distributes their connections over the workers. */
  let clients: readonly [ApiClient, ApiClient, ApiClient, ApiClient];

  before(async () => {
    server = await startTestServerProcess(dataDirectory, { flags: ["--workers=2", "--log-level=error"] });
    clients = [clientOf(server), clientOf(server), clientOf(server), clientOf(server)];
    await clients[0].request("/api/v1/namespaces", { method: "POST", body: { metadata: { name: quiet } } });
    await repeatConcurrently({ times: quietSecrets, concurrency: 20 }, (index) => {
      const metadata = { name: `quiet-${index}` };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, data: { password: password(index) } };
      return clients[0].resource(secrets, quiet).create(secret);
    });
  });
  /** Aborted at the end too: a test that failed must not keep the process running. */
  const following = new AbortController();
  const writing = new AbortController();
  after(async () => {
    following.abort();
    writing.abort();
    for (const client of clients) client.close();
    await server.kill();
    rmSync(scratch, { recursive: true, force: true });
  });

  const signet = (action: string): Promise<string> =>
    SignetProcess.run("encryption", action, "--data-dir", dataDirectory);

  /** Runs the command until it is killed in one of its transactions. */
  async function signetKilled(action: string, { inWrite }: { readonly inWrite: number }): Promise<void> {
    // The sources: the program's bundle would have a lock of its own, which the preloaded module does not change.
    const words = [
      join(import.meta.dirname, "../../../src/main.js"),
      "encryption",
      action,
      "--data-dir",
      dataDirectory,
    ];
    const preloaded = `--import=${import.meta.resolve("./killed-in-write.ts")}`;
    const command = new ProgramProcess([process.execPath, preloaded, ...words], {
      env: { ...process.env, SIGNET_KILLED_IN_WRITE: String(inWrite) },
    });
    assert.equal(await command.ended(), null, command.output);
  }

  const keys = (): string[] => readFileSync(keyFile, "utf8").trimEnd().split("\n").slice(1);

  /** How many Secrets there are in each state. */
  async function states(): Promise<Readonly<Record<string, number>>> {
    const opened = await openDecryptedStore(
      parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} }),
    );
    try {
      const { groups } = await surveyEncryption(opened);
      const found: Record<string, number> = {};
      for (const { resource, state, objects } of groups) {
        if (resource === "secrets") found[state] = (found[state] ?? 0) + objects;
      }
      return found;
    } finally {
      await opened.close();
    }
  }

  async function everyWorkerReadsAll(): Promise<void> {
    const wanted = Array.from({ length: quietSecrets }, (_, index) => password(index)).sort();
    for (const client of clients) {
      const { items } = await client.resource(secrets, quiet).list();
      assert.deepEqual(items.map(({ data }) => data?.["password"] ?? "").sort(), wanted);
    }
  }

  it("rotates the key under load: no write and no event is lost, and every worker reads all", async () => {
    const followed = clients.flatMap((client) =>
      [quiet, busy].map((namespace) => {
        const follower = new WatchFollower(secrets, namespace);
        return { client, namespace, follower, done: follower.follow(client, following.signal) };
      }),
    );
    for (const { follower } of followed) assert.ok(await follower.reached(1, { withinMilliseconds: 20_000 }));
    const random = new SeededRandom(5);
    const writers = clients.map((client, index) => {
      const name = `busy-${index}`;
      const writer = new LedgerWriter({ name, namespace: busy, references: [secrets], random: random.fork() });
      return { writer, done: writer.run(client, writing.signal) };
    });
    const [first] = keys();
    assert.match(await signet("rotate"), /made the key/);
    for (const { writer } of writers) await eventually("every writer has written", () => writer.acknowledgedCount > 0);
    writing.abort();
    for (const { writer, done } of writers) {
      await done;
      assert.deepEqual([writer.violations, writer.unansweredCount, writer.refusedCount], [[], 0, 0]);
    }
    assert.deepEqual([keys().length, keys().at(-1)], [2, first]);
    // A worker that had read the old key may have written with it at the moment of the rotation.
    await signet("rewrite");
    assert.deepEqual(Object.keys(await states()), ["current"]);
    await everyWorkerReadsAll();
    for (const { client, namespace, follower } of followed) {
      const { items } = await client.resource(secrets, namespace).list();
      const newest = Math.max(...items.map(({ metadata }) => Number(metadata.resourceVersion)));
      assert.ok(await follower.reached(newest, { withinMilliseconds: 20_000 }));
      assert.deepEqual(follower.differencesFrom(items), []);
    }
    following.abort();
    for (const { follower, done } of followed) {
      await done;
      assert.deepEqual([follower.violations, follower.relists], [[], 0]);
    }
  });

  it("continues a rewrite that was killed in a write, while the workers write", async () => {
    const lines = keys();
    writeFileSync(keyFile, `# keys\n${[randomBytes(32).toString("base64"), ...lines].join("\n")}\n`);
    const { stale: all = 0 } = await states();
    assert.ok(all >= quietSecrets);
    let left = all;
    for (const inWrite of [1, 2]) {
      await signetKilled("rewrite", { inWrite });
      const { stale = 0, unreadable = 0 } = await states();
      assert.equal(unreadable, 0);
      // The transaction that was under way is there or not.
      assert.ok(left - stale <= inWrite * writtenAtOnce, `${left - stale} rewritten, killed in ${inWrite}`);
      left = stale;
      for (const client of clients) {
        const name = `after-kill-${inWrite}-${clients.indexOf(client)}`;
        const secret = { apiVersion: "v1", kind: "Secret", metadata: { name } };
        await client.resource(secrets, busy).create(secret);
      }
      await everyWorkerReadsAll();
    }
    assert.match(await signet("rewrite"), new RegExp(`^rewrote ${left} objects$`, "m"));
    assert.deepEqual(Object.keys(await states()), ["current"]);
    await everyWorkerReadsAll();
  });

  it("continues a rotation that was killed, with the key that it had made, and retires all others", async () => {
    const before = keys();
    await signetKilled("rotate", { inWrite: 3 });
    const [made, ...others] = keys();
    assert.deepEqual(others, before);
    assert.match(await signet("rotate"), /^continues with the key/);
    assert.equal(keys()[0], made);
    assert.match(await signet("retire"), /retired/);
    assert.deepEqual(keys(), [made]);
    await everyWorkerReadsAll();
    // Read by who has never seen the retired keys.
    assert.deepEqual(Object.keys(await states()), ["current"]);
  });
});
