import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { failureReport } from "../../../src/cli/failure-report.ts";
import {
  runBackUp,
  runRestore,
  serveCommand,
  unreadableSourceAdvice,
} from "../../../src/server/backup/storage-programs.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { StoreDamaged } from "../../../src/machinery/storage/store.ts";
import type { RangeRequest } from "../../../src/machinery/storage/store.ts";
import { skipsEtcd, startEtcd } from "../../machinery/storage/etcd/etcd-process.ts";
import { put } from "../../machinery/storage/store-contract.ts";
import { startTestServer } from "../../test-server.ts";
import { makeDamagedStore } from "../store/damaged-store.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

it("the advice to give up an object that can't be moved names it so that a shell takes it as one word", () => {
  const advised = (key: string): string => unreadableSourceAdvice({ key, isKmsUnavailable: false });
  const command = "put its key back, or give it up: signet encryption discard ";
  assert.equal(advised("/registry/secrets/default/web"), `${command}/registry/secrets/default/web`);
  const path = "/registry/rbac.authorization.k8s.io/clusterroles";
  assert.equal(advised(`${path}/a;reboot`), `${command}'${path}/a;reboot'`);
});

it("a backup of a damaged store fails as work that cannot be done, and says once what is damaged", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "data"));
  await makeDamagedStore(join(folder, "data"));
  const location = parseServerConfig({ commandLine: { "data-dir": join(folder, "data") }, file: {} });
  const failure = await runBackUp(location, { file: join(folder, "backup"), withKeys: false }).catch((error) => error);
  assert.deepEqual(failureReport(failure, "signet backup"), {
    exitCode: 1,
    message: new StoreDamaged("a write of /registry/namespaces/lost is missing").message,
  });
  assert.deepEqual(readdirSync(folder), ["data"]);
});

it("a backup that the store does not wait for says so, and leaves nothing", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "signet-slow-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const dataDirectory = join(folder, "data");
  const location = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  await (await startTestServer({ storage: "lmdb", dataDirectory })).stop();
  const { range } = LmdbStore.prototype;
  // A server that writes, and then forgets the state, before each read of it.
  context.mock.method(LmdbStore.prototype, "range", async function (this: LmdbStore, request: RangeRequest) {
    if (request.revision !== undefined) {
      await put(this, `/written-after-${request.revision}`, "{}");
      await this.compact(this.latestRevision());
    }
    return range.call(this, request);
  });
  const failure = await runBackUp(location, { file: join(folder, "backup"), withKeys: true }).catch((error) => error);
  const { exitCode, message } = failureReport(failure, "signet backup");
  assert.equal(exitCode, 1);
  assert.match(message, /^the store forgot the state .* use a faster disk, or stop the servers and run this again$/);
  assert.deepEqual(readdirSync(folder), ["data"]);
});

it(
  "a restore into etcd names etcd and the files for it in the command for the next start",
  { skip: skipsEtcd },
  async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "signet-restore-"));
    const etcd = await startEtcd({ isTls: true });
    context.after(async () => {
      await etcd.stop();
      rmSync(folder, { recursive: true });
    });
    const said: string[] = [];
    context.mock.method(console, "log", (line: string) => void said.push(line));
    const source = join(folder, "source");
    const file = join(folder, "backup.gz");
    const target = join(folder, "target");
    await (await startTestServer({ storage: "lmdb", dataDirectory: source })).stop();
    await runBackUp(parseServerConfig({ commandLine: { "data-dir": source }, file: {} }), { file, withKeys: true });
    const words = [
      "--data-dir",
      target,
      "--etcd-servers",
      etcd.urls.join(","),
      "--etcd-prefix",
      "/it",
      ...etcd.tlsFlags,
    ];
    const commandLine = Object.fromEntries(
      words.flatMap((word, index) => (word.startsWith("--") ? [[word.slice(2), words[index + 1] ?? ""]] : [])),
    );
    await runRestore(parseServerConfig({ commandLine, file: {} }), { file, isDryRun: false });
    assert.equal(said.at(-1), `  signet serve ${words.toSpliced(2, 0, "--profile", "platform").join(" ")}`);
  },
);

it("the command for the first start after a restore has the settings of encryption, and accepts etcd without TLS where the restore did", () => {
  const commandOf = (commandLine: Readonly<Record<string, string>>): string =>
    serveCommand(parseServerConfig({ commandLine: { "data-dir": "/d", ...commandLine }, file: {} }), "platform");
  const own = "signet serve --data-dir /d --profile platform";
  assert.equal(commandOf({}), own);
  assert.equal(commandOf({ "encryption-key-file": "/etc/the key" }), `${own} --encryption-key-file '/etc/the key'`);
  const followed = "--encryption-provider-config /e.yaml --encryption-provider-config-automatic-reload true";
  const settings = {
    "encryption-provider-config": "/e.yaml",
    "encryption-provider-config-automatic-reload": "true",
  };
  assert.equal(commandOf(settings), `${own} ${followed}`);
  const etcd = { "etcd-servers": "http://etcd.example:2379", "etcd-prefix": "/it", "etcd-allow-plaintext": "true" };
  const inEtcd = "--etcd-servers http://etcd.example:2379 --etcd-prefix /it --etcd-allow-plaintext true";
  assert.equal(commandOf(etcd), `${own} ${inEtcd}`);
});

it(
  "a restore into an etcd that does not take an object names it and etcd's limit, and leaves nothing there",
  { skip: skipsEtcd },
  async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "signet-restore-"));
    const etcd = await startEtcd({ flags: { "max-request-bytes": 1_572_864 } });
    context.after(async () => {
      await etcd.stop();
      rmSync(folder, { recursive: true });
    });
    const [source, target, file] = [join(folder, "source"), join(folder, "target"), join(folder, "backup.gz")];
    mkdirSync(source);
    const store = new LmdbStore({ directory: join(source, "store"), profile: "platform" });
    const key = "/registry/configmaps/default/large";
    // An object may be as large by default, and a request to etcd too, but that has the key besides.
    await put(store, key, `{"data":{"a":"${"a".repeat(1_572_864 - 17)}"}}`);
    await store.close();
    context.mock.method(console, "log", () => {});
    await runBackUp(parseServerConfig({ commandLine: { "data-dir": source }, file: {} }), { file, withKeys: true });
    const inEtcd = { "data-dir": target, "etcd-servers": etcd.urls.join(",") };
    const location = parseServerConfig({ commandLine: inEtcd, file: {} });
    for (const _attempt of ["the first", "another one"]) {
      const failure = await runRestore(location, { file, isDryRun: false }).catch((error) => error);
      assert.deepEqual(failureReport(failure, "signet restore"), {
        exitCode: 1,
        message:
          `${key} has 1572864 bytes, and the store that it goes to does not take so many: start etcd's members with ` +
          "--max-request-bytes=4194304, and run this again",
      });
      assert.ok(!existsSync(target));
    }
  },
);
