import assert from "node:assert/strict";
import { createHash, createPublicKey, generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { status } from "@grpc/grpc-js";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { createObjects, stateOf, UnreadableSource } from "../../../src/machinery/storage/copy-objects.ts";
import type { Entry } from "../../../src/machinery/storage/store.ts";
import { backUp } from "../../../src/server/backup/back-up.ts";
import { restoreBackup } from "../../../src/server/backup/restore.ts";
import { unreadableSourceAdvice } from "../../../src/server/backup/storage-programs.ts";
import { examineEncryption } from "../../../src/server/doctor/examine-encryption.ts";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import { runEncryption } from "../../../src/server/encryption/encryption-programs.ts";
import { openDecryptedStore } from "../../../src/server/encryption/decrypted-store.ts";
import type { EncryptionAction } from "../../../src/server/settings/encryption-settings.ts";
import { openStore } from "../../../src/server/store/open-store.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import type { ServerConfig } from "../../../src/server/settings/server-config.ts";
import { socketFolder } from "../../socket-folder.ts";
import { startTemporaryServer, startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { KmsPlugin } from "../../machinery/storage/encryption/kms/kms-plugin.ts";
import { InProcess } from "../in-process.ts";

const folder = socketFolder();
const secrets = "/api/v1/namespaces/default/secrets";
const password = "dGhlLXNlY3JldC1wYXNzd29yZA==";
const keyOf = (name: string): string => `/registry/secrets/default/${name}`;

const configOf = (dataDirectory: string, settings: Readonly<Record<string, unknown>> = {}): ServerConfig =>
  parseServerConfig({ commandLine: { "data-dir": dataDirectory, ...settings }, file: {} });

/** What the store holds for a key, as it is on the disk. */
async function storedAt(dataDirectory: string, key: string): Promise<Entry> {
  const store = await openStore(configOf(dataDirectory));
  try {
    return (await store.range({ start: key, end: `${key}\0` })).entries[0] ?? assert.fail(`${key} is not stored`);
  } finally {
    await store.close();
  }
}

const prefixAt = async (dataDirectory: string, key: string): Promise<string> =>
  (await storedAt(dataDirectory, key)).value.toString("latin1", 0, 60);

/** Runs a command and returns what it printed. */
async function run(t: TestContext, config: ServerConfig, action: EncryptionAction): Promise<string> {
  const lines: string[] = [];
  const printed = t.mock.method(console, "log", (line: string) => lines.push(line));
  try {
    await runEncryption(config, action);
  } finally {
    printed.mock.restore();
    process.exitCode = undefined;
  }
  return lines.join("\n");
}

const create = (api: InProcess, name: string) =>
  api.json(secrets, { method: "POST", body: { metadata: { name }, data: { password } } });

describe("a server with its own store", () => {
  const dataDirectory = join(folder, "own");
  const keyFile = join(dataDirectory, "encryption.key");
  const config = configOf(dataDirectory);
  let server: TestServer;
  let api: InProcess;
  const start = async (): Promise<void> => {
    server = await startTemporaryServer({ storage: "lmdb", dataDirectory });
    api = new InProcess(server);
  };

  before(async () => {
    // As an earlier version left it: Secrets are plain.
    const identity = join(folder, "identity.yaml");
    writeFileSync(identity, configuration({ identity: {} }), { mode: 0o600 });
    const earlier = await startTestServer({
      storage: "lmdb",
      dataDirectory,
      settings: { "encryption-provider-config": identity },
    });
    await create(new InProcess(earlier), "old");
    await create(new InProcess(earlier), "older");
    await earlier.stop();
    await start();
  });
  after(() => server.stop());

  it("encrypts Secrets with a key that only its user can read, and nothing else", async () => {
    await create(api, "web");
    assert.match(await prefixAt(dataDirectory, keyOf("web")), /^signet:enc:aesgcmderived:v1:[0-9a-f]{16}:/);
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    assert.match(await prefixAt(dataDirectory, "/registry/namespaces/default"), /^{"metadata"/);
    assert.equal((await api.json(`${secrets}/web`)).data?.["password"], password);
  });

  it("reads unencrypted objects of before, and encrypts them with the next update, even one that changes nothing", async () => {
    const old = await api.json(`${secrets}/old`);
    assert.equal(old.data?.["password"], password);
    assert.match(await prefixAt(dataDirectory, keyOf("old")), /^{/);
    const updated = await api.json(`${secrets}/old`, { method: "PUT", body: old });
    assert.notEqual(updated.metadata.resourceVersion, old.metadata.resourceVersion);
    assert.match(await prefixAt(dataDirectory, keyOf("old")), /^signet:enc/);
    const again = await api.json(`${secrets}/old`, { method: "PUT", body: updated });
    assert.equal(again.metadata.resourceVersion, updated.metadata.resourceVersion);
  });

  it("changes its key while it runs: rotate, keep writing, retire, restart", async (t) => {
    const watch = await api.watch(`${secrets}?watch=true&resourceVersion=${await server.store.latestRevision()}`);
    assert.match(
      await run(t, config, { type: "status" }),
      /secrets +plain +1 +stale\n1 object to write as the settings say now: /,
    );
    const [, oldKey] = readFileSync(keyFile, "utf8").trim().split("\n");
    const rotated = await run(t, config, { type: "rotate" });
    assert.match(rotated, /made the key [0-9a-f]{16}; .*\nrewrote 3 objects\n/s);
    assert.equal((await api.json(secrets)).items.length, 3);
    await create(api, "after");
    const [, newKey] = readFileSync(keyFile, "utf8").trim().split("\n");
    assert.notEqual(newKey, oldKey);
    const made = /made the key (\w+)/.exec(rotated)?.[1] ?? "";
    assert.ok((await prefixAt(dataDirectory, keyOf("after"))).includes(`:${made}:`));
    assert.match(await run(t, config, { type: "rewrite" }), /rewrote 0 objects/);
    assert.match(await run(t, config, { type: "retire" }), /retired [0-9a-f]{16}/);
    assert.ok(!readFileSync(keyFile, "utf8").includes(oldKey ?? "?"));
    await server.stop();
    assert.ok(watch.events.every(({ type }) => type === "MODIFIED" || type === "ADDED"));
    await start();
    assert.equal((await api.json(secrets)).items.length, 4);
  });

  it("continues an interrupted rotation instead of making another key", async (t) => {
    const lines = readFileSync(keyFile, "utf8").trimEnd().split("\n");
    const next = Buffer.alloc(32, 9).toString("base64");
    writeFileSync(keyFile, `${[lines[0], next, ...lines.slice(1)].join("\n")}\n`);
    assert.match(await run(t, config, { type: "rotate" }), /^continues with the key .*\nrewrote 4 objects/);
    assert.match(await run(t, config, { type: "rotate" }), /made the key/);
    await run(t, config, { type: "retire" });
  });

  it("says at Ctrl-C during the look at all objects that nothing was changed, and makes no key", async () => {
    const keys = readFileSync(keyFile, "utf8");
    const pressCtrlC = (event: string | symbol): void => {
      if (event !== "SIGINT") return;
      process.off("newListener", pressCtrlC);
      queueMicrotask(() => process.emit("SIGINT", "SIGINT"));
    };
    process.on("newListener", pressCtrlC);
    await assert.rejects(
      runEncryption(config, { type: "rotate" }),
      /^CommandFailure: ended by SIGINT; nothing was changed$/,
    );
    assert.equal(readFileSync(keyFile, "utf8"), keys);
  });

  it("is rid of the keys that a killed rotation left beside its file", async (t) => {
    const left = `${keyFile}.0123456789ab.new`;
    writeFileSync(left, "keys", { mode: 0o600 });
    await run(t, config, { type: "rotate" });
    assert.equal(existsSync(left), false);
    await run(t, config, { type: "retire" });
  });

  it("changes its key by one command at a time, so that none writes over another's key", async (t) => {
    const rotating = run(t, config, { type: "rotate" });
    for (const type of ["rotate", "retire"] as const) {
      await assert.rejects(
        runEncryption(config, { type }),
        /another command is changing .*encryption\.key: run this again/,
      );
    }
    const made = /made the key (\w+)/.exec(await rotating)?.[1] ?? "";
    await create(api, "rotated-alone");
    assert.ok((await prefixAt(dataDirectory, keyOf("rotated-alone"))).includes(`:${made}:`));
  });

  it("changes its key where a link leads to", async (t) => {
    const target = join(folder, "linked.key");
    renameSync(keyFile, target);
    symlinkSync(target, keyFile);
    const made = /linked\.key: made the key (\w+)/.exec(await run(t, config, { type: "rotate" }))?.[1] ?? "";
    assert.ok(lstatSync(keyFile).isSymbolicLink());
    await create(api, "with-linked-key");
    assert.ok((await prefixAt(dataDirectory, keyOf("with-linked-key"))).includes(`:${made}:`));
    rmSync(keyFile);
    renameSync(target, keyFile);
  });

  it("writes with a new key what an update does not change", async () => {
    const before = await api.json(`${secrets}/old`);
    const [comment, ...keys] = readFileSync(keyFile, "utf8").trimEnd().split("\n");
    const [made, ...others] = [Buffer.alloc(32, 8).toString("base64"), ...keys];
    writeFileSync(keyFile, `${[comment, made, ...others].join("\n")}\n`);
    const oldPrefix = await prefixAt(dataDirectory, keyOf("old"));
    const updated = await api.json(`${secrets}/old`, { method: "PUT", body: before });
    assert.notEqual(await prefixAt(dataDirectory, keyOf("old")), oldPrefix);
    const again = await api.json(`${secrets}/old`, { method: "PUT", body: updated });
    assert.equal(again.metadata.resourceVersion, updated.metadata.resourceVersion);
  });

  it("keeps encrypting when its key file is taken away, and does not start without it", async () => {
    await create(api, "with-file");
    renameSync(keyFile, `${keyFile}.away`);
    await create(api, "without-file");
    assert.match(await prefixAt(dataDirectory, keyOf("without-file")), /^signet:enc/);
    await server.stop();
    await assert.rejects(
      start(),
      (error) =>
        error instanceof UsageError &&
        /encryption.key is gone.*put it back.*, or name the file that the server had \(--encryption-key-file\)$/.test(
          error.message,
        ),
    );
    renameSync(`${keyFile}.away`, keyFile);
    await start();
    assert.equal((await api.json(`${secrets}/without-file`)).data?.["password"], password);
  });

  it("reports an object that cannot be decrypted by name, and discards it on command", async (t) => {
    const moved = await storedAt(dataDirectory, keyOf("web"));
    const watch = await api.watch(`${secrets}?watch=true&resourceVersion=${await server.store.latestRevision()}`);
    const store = await openStore(config);
    await store.write({ key: keyOf("moved"), value: moved.value, expectedRevision: 0 });
    await store.close();
    const failed = await api.json(`${secrets}/moved`);
    assert.equal(failed.code, 500);
    assert.match(
      failed.message,
      /unable to transform key "\/registry\/secrets\/default\/moved": it was changed or moved/,
    );
    for (const request of [
      api.json(secrets),
      api.json(`${secrets}?labelSelector=a%3Db`),
      api.json("/api/v1/secrets"),
      api.json(secrets, { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } }),
      api.json(`${secrets}/moved`, { method: "PUT", body: { metadata: { name: "moved" } } }),
      api.json(`${secrets}/moved`, { method: "DELETE" }),
      api.json(secrets, { method: "DELETE" }),
    ]) {
      assert.equal((await request).message, failed.message);
    }
    await watch.until(1);
    assert.deepEqual(
      watch.events.map(({ type }) => type),
      ["ERROR"],
    );
    assert.equal((await api.json(`${secrets}/web`)).data?.["password"], password);
    assert.match(
      await run(t, config, { type: "status" }),
      /secrets\/default\/moved: it was changed or moved.*\n1 object can't be decrypted/,
    );
    assert.ok(
      (await examineServer(config, Date.now())).some(({ state, found }) => state === "bad" && /1 object/.test(found)),
    );
    await assert.rejects(
      run(t, config, { type: "discard", key: keyOf("web") }),
      /can be read: delete it through the API/,
    );
    await run(t, config, { type: "discard", key: keyOf("moved") });
    assert.equal((await api.json(secrets)).kind, "SecretList");
    assert.equal((await api.json(`${secrets}/moved`)).code, 404);
  });

  for (const damaged of ['{"metadata":{"name":"damaged"', "[]"]) {
    it(`reports what is no object any more (${damaged}) by name, and discards it on command`, async (t) => {
      const key = "/registry/configmaps/default/damaged";
      const store = await openStore(config);
      await store.write({ key, value: Buffer.from(damaged), expectedRevision: 0 });
      await store.close();
      assert.match(
        await run(t, config, { type: "status" }),
        /configmaps +plain +1 +unreadable\n(?:.*\n)*.*default\/damaged: it is not an object\n/,
      );
      await run(t, config, { type: "discard", key });
      assert.doesNotMatch(await run(t, config, { type: "status" }), /unreadable/);
    });
  }

  it("is backed up with its Secrets encrypted: they cannot be read without the key, and can be read with it", async (t) => {
    await run(t, config, { type: "rewrite" });
    const file = join(folder, "without-keys.backup");
    const report = await backUp(config, {
      file,
      withKeys: false,
      clock: systemClock,
      signal: new AbortController().signal,
    });
    assert.equal(report.plainSecrets, 0);
    assert.ok(report.withoutKeys.includes("encryption.key"));
    assert.ok(!gunzipSync(readFileSync(file)).includes(password));
    const restored = join(folder, "restored");
    await restoreBackup(configOf(restored), { file, clock: systemClock, signal: new AbortController().signal });
    const startRestored = () => startTestServer({ storage: "lmdb", dataDirectory: restored });
    await assert.rejects(startRestored(), /encryption.key is gone/);
    for (const key of report.withoutKeys) {
      writeFileSync(join(restored, key), readFileSync(join(dataDirectory, key)), { mode: 0o600 });
    }
    const again = await startRestored();
    const found = await new InProcess(again).json(`${secrets}/web`);
    await again.stop();
    assert.equal(found.data?.["password"], password);
  });
});

describe("a server that gets its keys from a service manager", () => {
  // As systemd lays out $CREDENTIALS_DIRECTORY: the service may read, and no user may write.
  const credentials = join(folder, "credentials");
  const fileOf = (name: string): string => join(credentials, name);
  const settings = {
    "encryption-key-file": fileOf("encryption.key"),
    "service-account-signing-key-file": fileOf("token.key"),
    "service-account-key-file": fileOf("token.key"),
    "service-account-issuer": "https://issuer.example",
  };
  // So that others than root can remove it.
  after(() => chmodSync(credentials, 0o700));

  it("uses them in place, keeps no copy, and still reads what its own key has encrypted", async () => {
    const dataDirectory = join(folder, "handed-over");
    const before = await startTestServer({ storage: "lmdb", dataDirectory });
    await create(new InProcess(before), "own-key");
    await before.stop();
    const secret = Buffer.alloc(32, 5).toString("base64");
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    mkdirSync(credentials);
    writeFileSync(fileOf("encryption.key"), `${secret}\n`, { mode: 0o440 });
    writeFileSync(fileOf("token.key"), privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o440 });
    chmodSync(credentials, 0o550);
    const server = await startTestServer({ storage: "lmdb", dataDirectory, settings });
    const api = new InProcess(server);
    assert.equal((await api.json(`${secrets}/own-key`)).data?.["password"], password);
    await create(api, "handed-over");
    const account = { metadata: { name: "robot" } };
    await api.json("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: account });
    const { status } = await api.json<{ status: { token: string } }>(
      "/api/v1/namespaces/default/serviceaccounts/robot/token",
      { method: "POST", body: { spec: {} } },
    );
    const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" });
    const kid = createHash("sha256").update(publicKey).digest("base64url");
    assert.equal(JSON.parse(Buffer.from(status.token.split(".")[0] ?? "", "base64url").toString()).kid, kid);
    await server.stop();
    const ownKey = /:v1:\w+:/.exec(await prefixAt(dataDirectory, keyOf("own-key")))?.[0];
    assert.ok(!(await prefixAt(dataDirectory, keyOf("handed-over"))).includes(ownKey ?? ""));
    for (const name of readdirSync(dataDirectory)) {
      if (statSync(join(dataDirectory, name)).isFile())
        assert.ok(!readFileSync(join(dataDirectory, name)).includes(secret));
    }
  });
});

const configuration = (...providers: object[]): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources: ["secrets", "leases.coordination.k8s.io"], providers }],
  });

describe("a server with an encryption configuration", () => {
  const dataDirectory = join(folder, "configured");
  const file = join(folder, "encryption.yaml");
  const plugin = new KmsPlugin(join(folder, "kms.sock"));
  const kms = { kms: { apiVersion: "v2", name: "vault", endpoint: plugin.endpoint, timeout: "5s" } };
  const secretbox = { secretbox: { keys: [{ name: "box1", secret: Buffer.alloc(32, 3).toString("base64") }] } };
  const settings = { "encryption-provider-config": file, "encryption-provider-config-automatic-reload": true };
  const config = configOf(dataDirectory, settings);
  let server: TestServer;
  let api: InProcess;

  before(async () => {
    await plugin.start();
    writeFileSync(file, configuration(secretbox, { identity: {} }), { mode: 0o600 });
    server = await startTestServer({ storage: "lmdb", dataDirectory, settings });
    api = new InProcess(server);
  });
  after(async () => {
    await server.stop();
    plugin.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("encrypts what it names, in either spelling", async () => {
    await create(api, "boxed");
    assert.match(await prefixAt(dataDirectory, keyOf("boxed")), /^k8s:enc:secretbox:v1:box1:/);
    const leases = "/apis/coordination.platform.io/v1/namespaces/default/leases";
    await api.json(leases, { method: "POST", body: { metadata: { name: "one" }, spec: {} } });
    assert.match(
      await prefixAt(dataDirectory, "/registry/leases.coordination.platform.io/default/one"),
      /^k8s:enc:secretbox/,
    );
  });

  it("follows the file: a wrong one changes nothing, a KMS takes over, and its old values are rewritten", async (t) => {
    writeFileSync(file, "resources: [");
    await create(api, "still-boxed");
    assert.match(await prefixAt(dataDirectory, keyOf("still-boxed")), /^k8s:enc:secretbox/);
    writeFileSync(file, configuration(kms, secretbox));
    await create(api, "wrapped");
    assert.match(await prefixAt(dataDirectory, keyOf("wrapped")), /^k8s:enc:kms:v2:vault:/);
    assert.match(await run(t, config, { type: "rewrite" }), /rewrote \d+ objects/);
    const status = await run(t, config, { type: "status" });
    assert.match(status, /secrets +kms:v2:vault +3 +current/);
    assert.doesNotMatch(status, /secretbox/);
    assert.equal((await api.json(secrets)).items.length, 3);
  });

  it("rewrites what an older key of the KMS has wrapped, and says when the plugin can't be asked for its key", async (t) => {
    plugin.keyId = "key-2";
    assert.match(await run(t, config, { type: "status" }), /secrets +kms:v2:vault +3 +stale/);
    plugin.behaviour = "unhealthy";
    await assert.rejects(
      run(t, config, { type: "rewrite" }),
      /can't be encrypted: the KMS plugin vault does not work now/,
    );
    plugin.behaviour = "works";
    assert.match(await run(t, config, { type: "rewrite" }), /rewrote \d+ objects/);
    assert.match(await run(t, config, { type: "status" }), /secrets +kms:v2:vault +3 +current/);
    assert.equal((await api.json(secrets)).items.length, 3);
  });

  it("discards no object that can be decrypted when the KMS works again", async (t) => {
    plugin.stop();
    const status = await run(t, config, { type: "status" });
    assert.match(status, /\d objects can't be decrypted while the KMS does not work: start it$/);
    const discarding = run(t, config, { type: "discard", key: keyOf("boxed") });
    await assert.rejects(
      discarding,
      /default\/boxed" can be decrypted when the KMS works: start it\. If its key is lost/,
    );
    await plugin.start();
    assert.match(await run(t, config, { type: "status" }), /secrets +kms:v2:vault +3 +current/);
  });

  it("has signet doctor say to start a KMS that does not work", async () => {
    plugin.stop();
    const findings = await examineEncryption(config);
    assert.ok(
      findings.some(
        ({ found, advice }) =>
          /^\d objects can't be decrypted while the KMS does not work$/.test(found) &&
          advice === "see signet encryption status; start the KMS",
      ),
    );
    assert.ok(findings.every(({ advice }) => !advice?.includes("put their key back")));
    await plugin.start();
    assert.ok((await examineEncryption(config)).every(({ state }) => state !== "bad"));
  });

  it("advises no discard when a store is copied while the KMS does not work", async () => {
    plugin.stop();
    const source = await openDecryptedStore(config);
    try {
      const { objects } = await stateOf(source.store);
      await assert.rejects(
        createObjects(new MemoryStore(), objects()),
        (error) => error instanceof UnreadableSource && unreadableSourceAdvice(error) === "start its KMS",
      );
    } finally {
      await source.close();
      await plugin.start();
    }
  });

  it("discards an object whose KMS is gone once no provider names it, as the refusal says", async (t) => {
    await create(api, "given-up");
    plugin.stop();
    const without = join(folder, "without-kms.yaml");
    writeFileSync(without, configuration(secretbox));
    const gone = configOf(dataDirectory, { "encryption-provider-config": without });
    assert.match(await run(t, gone, { type: "discard", key: keyOf("given-up") }), /deleted; its contents are lost/);
    await plugin.start();
  });

  it("discards no object while the KMS fails in a way that may pass", async (t) => {
    plugin.behaviour = "refuses to decrypt";
    const passing = [status.UNKNOWN, status.INTERNAL, status.PERMISSION_DENIED, status.FAILED_PRECONDITION];
    for (const code of [...passing, status.RESOURCE_EXHAUSTED, status.UNAUTHENTICATED]) {
      plugin.refusalCode = code;
      assert.match(await run(t, config, { type: "status" }), /while the KMS does not work: start it$/);
      const discarding = run(t, config, { type: "discard", key: keyOf("boxed") });
      await assert.rejects(discarding, /default\/boxed" can be decrypted when the KMS works/);
    }
    plugin.refusalCode = status.NOT_FOUND;
    plugin.behaviour = "works";
  });

  it("discards no object while the KMS gives a wrong key", async (t) => {
    plugin.behaviour = "gives one wrong key";
    try {
      const discarding = run(t, config, { type: "discard", key: keyOf("boxed") });
      await assert.rejects(discarding, /default\/boxed" can be decrypted when the KMS works/);
    } finally {
      plugin.behaviour = "works";
    }
  });

  it("discards an object whose key the KMS does not have any more", async (t) => {
    await create(api, "refused");
    plugin.behaviour = "refuses to decrypt";
    assert.match(
      await run(t, config, { type: "status" }),
      /\d objects can't be decrypted: put their keys back, or give/,
    );
    assert.match(await run(t, config, { type: "discard", key: keyOf("refused") }), /deleted; its contents are lost/);
    plugin.behaviour = "works";
  });

  it("reports in /readyz that the plugin is unavailable, and still serves what it has read", async () => {
    plugin.stop();
    const ready = async (): Promise<string> => String((await api.send("/readyz?verbose")).body);
    let answer = await ready();
    while (!answer.includes("[-]kms-providers failed")) answer = await ready();
    assert.equal((await api.send("/livez")).status, 200);
    assert.equal((await api.json(secrets)).items.length, 3);
    await plugin.start();
    while (!answer.includes("[+]kms-providers ok")) answer = await ready();
    await create(api, "back");
  });
});
