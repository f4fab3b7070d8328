import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { after, before, describe, it } from "node:test";
import type { TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { backUp } from "../../../src/server/backup/back-up.ts";
import { migrateStorage } from "../../../src/server/backup/migrate-storage.ts";
import type { MigrateOptions } from "../../../src/server/backup/migrate-storage.ts";
import { runEncryption } from "../../../src/server/encryption/encryption-programs.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import type { ServerConfig } from "../../../src/server/settings/server-config.ts";
import { encodePrivateKeyPem } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { newAuthority } from "../../features/certificates/certificate-loop-scene.ts";
import { skipsEtcd, startEtcd } from "../../machinery/storage/etcd/etcd-process.ts";
import type { EtcdCluster } from "../../machinery/storage/etcd/etcd-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";
import type { Answer } from "../in-process.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const plain = "the-secret-password";
const password = Buffer.from(plain).toString("base64");
const admission = "/apis/admissionregistration.k8s.io/v1";

const skipsEtcdctl = spawnSync("etcdctl", ["version"]).error && "etcdctl is not installed (Debian: etcd-client)";

describe("two replicas on one etcd", { skip: skipsEtcd || (skipsEtcdctl ?? false) }, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-two-replicas-"));
  const dataOf = (name: string): string => join(folder, name, "data");
  const keyFileOf = (name: string): string => join(folder, `${name}.keys`);
  const keys = ["old", "new"].map((name) => Buffer.alloc(32, name).toString("base64"));
  const [oldKey = "", newKey = ""] = keys;
  let etcd: EtcdCluster;
  let first: TestServer;
  let second: TestServer;
  let one: InProcess;
  let other: InProcess;

  const settingsOf = (name: string): Record<string, string> => ({
    "etcd-servers": etcd.urls.join(","),
    "encryption-key-file": keyFileOf(name),
  });
  const configOf = (name: string): ServerConfig =>
    parseServerConfig({ commandLine: { "data-dir": dataOf(name), ...settingsOf(name) }, file: {} });
  const migrate = (ends: Pick<MigrateOptions, "from" | "to">): Promise<unknown> =>
    migrateStorage(configOf("first"), {
      ...ends,
      sleep: async () => {},
      onWait: () => {},
      signal: new AbortController().signal,
    });
  const start = (name: string): Promise<TestServer> =>
    startTestServer({ storage: "lmdb", dataDirectory: dataOf(name), settings: settingsOf(name) });
  const writeKeys = (...lines: readonly string[]): void => {
    for (const name of ["first", "second"]) writeFileSync(keyFileOf(name), `${lines.join("\n")}\n`, { mode: 0o600 });
  };
  const create = (api: InProcess, name: string): Promise<Answer> =>
    api.json(secrets, { method: "POST", body: { metadata: { name }, data: { password } } });
  /** What etcd holds, as its own client tells it. */
  const etcdctl = (...words: readonly string[]): Buffer =>
    execFileSync("etcdctl", ["--endpoints", etcd.urls.join(","), ...words], {
      env: { ...process.env, ETCDCTL_API: "3" },
      maxBuffer: 2 ** 26,
    });
  const everything = (): Buffer => etcdctl("get", "", "--from-key");
  /** Runs `signet encryption`, and returns what it printed. */
  const encryption = async (t: TestContext, action: Parameters<typeof runEncryption>[1]): Promise<string> => {
    const lines: string[] = [];
    const printed = t.mock.method(console, "log", (line: string) => lines.push(line));
    try {
      await runEncryption(configOf("first"), action);
    } finally {
      printed.mock.restore();
      process.exitCode = undefined;
    }
    return lines.join("\n");
  };
  const hasNoPlainText = (bytes: Buffer): void => {
    for (const text of [plain, password]) assert.ok(!bytes.includes(text), `${text} is there`);
  };

  before(async () => {
    etcd = await startEtcd();
    // It begins with a store of its own, where the server's own key encrypts.
    const single = await startTestServer({ storage: "lmdb", dataDirectory: dataOf("first") });
    await create(new InProcess(single), "from-lmdb");
    await single.stop();
    writeKeys(oldKey);
    await migrate({ from: "lmdb", to: "etcd" });
    cpSync(dataOf("first"), dataOf("second"), { recursive: true });
    first = await start("first");
    second = await start("second");
    one = new InProcess(first);
    other = new InProcess(second);
  });
  after(async () => {
    await first.stop();
    await second.stop();
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("leave no plaintext of a Secret in etcd, whether it was moved there or written", async () => {
    assert.equal((await other.json(`${secrets}/from-lmdb`)).data?.["password"], password);
    await create(one, "written");
    assert.equal((await other.json(`${secrets}/written`)).data?.["password"], password);
    const stored = everything();
    assert.equal(stored.toString("latin1").match(/signet:enc:aesgcmderived:v1:/g)?.length, 2);
    hasNoPlainText(stored);
  });

  it("change their key by hand without a failed request", async (t) => {
    let written = 0;
    const rotation = new AbortController();
    const writing = (async () => {
      while (!rotation.signal.aborted) {
        const name = `during-${written++}`;
        const [writer, reader] = written % 2 === 0 ? [one, other] : [other, one];
        assert.equal((await create(writer, name)).metadata.name, name);
        assert.equal((await reader.json(`${secrets}/${name}`)).data?.["password"], password);
      }
    })();
    const readByAll = (): void => [first, second].forEach((server) => server.readFilesAgain());
    writeKeys(oldKey, newKey);
    readByAll();
    await create(one, "with-the-old-key");
    writeKeys(newKey, oldKey);
    readByAll();
    await create(one, "with-the-new-key");
    rotation.abort();
    await writing;
    assert.match(await encryption(t, { type: "rewrite" }), /rewrote \d+ objects/);
    const status = await encryption(t, { type: "status" });
    assert.match(status, new RegExp(`secrets +aesgcmderived:v1:[0-9a-f]{16} +${written + 4} +current`));
    writeKeys(newKey);
    readByAll();
    for (const api of [one, other]) {
      const { items } = await api.json(secrets);
      assert.equal(items.length, written + 4);
      assert.ok(items.every(({ data }) => data?.["password"] === password));
    }
    hasNoPlainText(everything());
  });

  it("are backed up with their Secrets encrypted", async () => {
    const file = join(folder, "replicas.backup");
    const { plainSecrets } = await backUp(configOf("first"), {
      file,
      withKeys: true,
      clock: systemClock,
      signal: new AbortController().signal,
    });
    assert.equal(plainSecrets, 0);
    hasNoPlainText(gunzipSync(readFileSync(file)));
  });

  it("put an admission policy into force on both, whichever has written it, and take it out again", async () => {
    const spec = {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["*"], operations: ["CREATE"], resources: ["configmaps"] }],
      },
      validations: [{ expression: "!object.metadata.name.startsWith('bad')" }],
    };
    const configMaps = "/api/v1/namespaces/default/configmaps";
    const isRefused = async (api: InProcess): Promise<boolean> =>
      (await api.send(`${configMaps}?dryRun=All`, { method: "POST", body: { metadata: { name: "bad" } } })).status ===
      422;
    for (const [writer, reader] of [
      [one, other],
      [other, one],
    ] as const) {
      const policy = { metadata: { name: "names" }, spec };
      const binding = { metadata: { name: "names" }, spec: { policyName: "names", validationActions: ["Deny"] } };
      const policies = `${admission}/validatingadmissionpolicies`;
      const bindings = `${admission}/validatingadmissionpolicybindings`;
      assert.equal((await writer.send(policies, { method: "POST", body: policy })).status, 201);
      assert.equal((await writer.send(bindings, { method: "POST", body: binding })).status, 201);
      // A read of the newest state waits for the store, and so for the policy.
      assert.equal((await reader.send(`${bindings}/names`)).status, 200);
      assert.deepEqual([await isRefused(writer), await isRefused(reader)], [true, true]);
      await writer.send(`${bindings}/names`, { method: "DELETE" });
      assert.equal((await reader.send(`${bindings}/names`)).status, 404);
      assert.deepEqual([await isRefused(writer), await isRefused(reader)], [false, false]);
      await writer.send(`${policies}/names`, { method: "DELETE" });
    }
  });

  it("are joined by no replica with a signer for client certificates whose CA another of them trusts for clients", async () => {
    const authority = newAuthority("clients");
    const certificateFile = join(folder, "clients.crt");
    writeFileSync(certificateFile, encodePem("CERTIFICATE", authority.certificate.der));
    writeFileSync(join(folder, "clients.key"), encodePrivateKeyPem(authority.privateKey), { mode: 0o600 });
    const signers = join(folder, "signers.yaml");
    writeFileSync(
      signers,
      `apiVersion: signet.platform.io/v1
kind: SignerConfiguration
signers:
  - name: example.com/clients
    certificateAuthority: { certificateFile: clients.crt, keyFile: clients.key }
    dnsNames: ["*.example.com"]
    usages: [client auth]
`,
    );
    const isShared = (file: string): boolean => !/\.lock$|owner\.json|admin\./.test(file);
    cpSync(dataOf("first"), dataOf("third"), { recursive: true, filter: isShared });
    const joining = (more: Record<string, string>): Promise<TestServer> =>
      startTestServer({
        storage: "lmdb",
        dataDirectory: dataOf("third"),
        settings: { ...settingsOf("first"), ...more },
      });
    const signing = await joining({ "signer-config": signers });
    await signing.stop();
    const trusting = await joining({ "client-ca-file": certificateFile });
    await trusting.stop();
    await assert.rejects(joining({ "signer-config": signers }), {
      message: /signers\[0\]\.certificateAuthority: the API server trusts this CA for client certificates/,
    });
  });

  it("go back to a store of one server, which has their Secrets, encrypted", async () => {
    await first.stop();
    await second.stop();
    await migrate({ from: "etcd", to: "lmdb" });
    for (const file of readdirSync(join(dataOf("first"), "store"))) {
      hasNoPlainText(readFileSync(join(dataOf("first"), "store", file)));
    }
    const single = await startTestServer({
      storage: "lmdb",
      dataDirectory: dataOf("first"),
      settings: { "encryption-key-file": keyFileOf("first") },
    });
    assert.equal((await new InProcess(single).json(`${secrets}/from-lmdb`)).data?.["password"], password);
  });
});
