import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fingerprintRecordName } from "../../../src/features/certificates/inventory/certificate-record.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { backUp } from "../../../src/server/backup/back-up.ts";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import { runEncryption } from "../../../src/server/encryption/encryption-programs.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { resourceReferences } from "../../resource-references.ts";
import { damageWrite } from "../../machinery/storage/backends/damage-write.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const damaged = {
  namespace: "/registry/namespaces/broken",
  account: "/registry/serviceaccounts/default/broken",
  secret: "/registry/secrets/default/broken",
  binding: "/registry/clusterrolebindings.rbac.authorization.platform.io/broken",
  defaultRole: "/registry/clusterroles.rbac.authorization.platform.io/cluster-admin",
  defaultBinding: "/registry/clusterrolebindings.rbac.authorization.platform.io/system:discovery",
  delegatedAuthentication: "/registry/configmaps/platform-system/extension-apiserver-authentication",
  delegatedReader:
    "/registry/roles.rbac.authorization.platform.io/platform-system/extension-apiserver-authentication-reader",
};

function recordOfAdministrator(dataDirectory: string): string {
  const [certificate = assert.fail()] = parseCertificatesPem(readFileSync(join(dataDirectory, "admin.pem"), "utf8"));
  return `/registry/issuedcertificates.signet.platform.io/${fingerprintRecordName(certificate)}`;
}

for (const how of ["lost", "changed"] as const) {
  describe(`a server whose store has objects that are ${how}`, () => {
    const dataDirectory = temporaryFolder();
    const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
    const keys = (): string[] => [...Object.values(damaged), recordOfAdministrator(dataDirectory)];
    let server: TestServer;
    let api: InProcess;
    const create = async (path: string, name: string, more = {}): Promise<void> => {
      const { code } = await api.json(path, { method: "POST", body: { metadata: { name }, ...more } });
      assert.equal(code, undefined, "it was created");
    };

    before(async () => {
      server = await startTestServer({ storage: "lmdb", dataDirectory });
      api = new InProcess(server);
      for (const name of ["broken", "sound"]) {
        await create("/api/v1/namespaces", name);
        await create("/api/v1/namespaces/default/serviceaccounts", name);
        await create("/api/v1/namespaces/default/secrets", name);
        await create(`${rbac}/clusterrolebindings`, name, {
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
          subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
        });
      }
      await server.stop();
      for (const key of keys()) await damageWrite(join(dataDirectory, "store"), { key, how });
      server = await startTestServer({ storage: "lmdb", dataDirectory });
      api = new InProcess(server);
    });
    after(async () => {
      await server.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    });

    it("starts, and serves all others", async () => {
      for (const path of ["namespaces/sound", "namespaces/default/serviceaccounts/sound"]) {
        assert.equal((await api.json(`/api/v1/${path}`)).metadata.name, "sound");
      }
      assert.equal((await api.json("/api/v1/namespaces/default/secrets/sound")).kind, "Secret");
      await create("/api/v1/namespaces/sound/serviceaccounts", "new");
    });

    it("never serves one, and fails the lists that would have to show it", async () => {
      for (const path of ["namespaces", "namespaces/default/serviceaccounts", "namespaces/default/secrets"]) {
        for (const object of [path, `${path}/broken`]) assert.ok((await api.json(`/api/v1/${object}`)).code >= 500);
      }
    });

    it("takes a binding among them for one that grants nothing, and all others as they are", async () => {
      const listAs = (user: string) =>
        api.json("/api/v1/namespaces/sound/configmaps", { headers: { "impersonate-user": user } });
      assert.equal((await listAs("sound")).kind, "ConfigMapList");
      assert.equal((await listAs("broken")).code, 403);
    });

    it("is not said to lack a role or an account that its bindings name, and that it has damaged", async () => {
      const findings = await examineServer(config, Date.now());
      assert.deepEqual(
        findings.filter(({ subject, state }) => subject === "bindings" && state !== "good"),
        [],
      );
    });

    it("lists all again once they are given up on the command line", async (t) => {
      t.mock.method(console, "log", () => {});
      for (const key of keys()) await runEncryption(config, { type: "discard", key });
      for (const path of ["namespaces", "namespaces/default/serviceaccounts", "namespaces/default/secrets"]) {
        const { items } = await api.json<{ items: { metadata: { name: string } }[] }>(`/api/v1/${path}`);
        const names = items.map(({ metadata }) => metadata.name);
        assert.ok(names.includes("sound") && !names.includes("broken"), names.join());
      }
    });
  });
}

describe("a server whose store has lost a rule that refuses requests, or its keys", () => {
  const dataDirectory = temporaryFolder();
  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const admission = "admissionregistration";
  const rules = [
    {
      path: "/apis/signet.platform.io/v1/revocations",
      key: "/registry/revocations.signet.platform.io/broken",
      spec: { token: { id: "11111111-2222-3333-4444-555555555555" } },
    },
    {
      path: `/apis/${admission}.k8s.io/v1/validatingadmissionpolicies`,
      key: `/registry/validatingadmissionpolicies.${admission}.platform.io/broken`,
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["nodes"] }],
        },
        validations: [{ expression: "false" }],
      },
    },
    {
      path: `/apis/${admission}.k8s.io/v1/validatingadmissionpolicybindings`,
      key: `/registry/validatingadmissionpolicybindings.${admission}.platform.io/broken`,
      spec: { policyName: "broken", validationActions: ["Deny"] },
    },
  ];
  const start = () => startTestServer({ storage: "lmdb", dataDirectory });

  it("does not start, and names what it is, until it is given up", async (t) => {
    t.mock.method(console, "log", () => {});
    const server = await start();
    const api = new InProcess(server);
    for (const { path, spec } of rules) {
      const { code } = await api.json(path, { method: "POST", body: { metadata: { name: "broken" }, spec } });
      assert.equal(code, undefined, "it was created");
    }
    await server.stop();
    for (const { key } of rules) {
      await damageWrite(join(dataDirectory, "store"), { key, how: "changed" });
      await assert.rejects(start(), ({ message }: Error) => message.includes(key));
      await runEncryption(config, { type: "discard", key });
    }
    await (await start()).stop();
    await damageWrite(join(dataDirectory, "store"), { key: "/keys/tokens", how: "changed" });
    await assert.rejects(start(), {
      message:
        "the store's file is damaged (the write of /keys/tokens is not as it was written); restore a backup (signet restore)",
    });
    const said: string[] = [];
    t.mock.method(console, "log", (line: string) => void said.push(line));
    await runEncryption(config, { type: "status" });
    process.exitCode = undefined; // the command found something
    assert.match(said.join("\n"), /^keys +plain +1 +unreadable\n\/keys\/tokens: the store's file is damaged/m);
    await runEncryption(config, { type: "discard", key: "/keys/tokens" });
    await (await start()).stop();
  });
});

describe("a server whose store has a damaged page, and a command on that store", () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "signet-damaged-"));
  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const store = join(dataDirectory, "store", "store.mdb");
  const backup = join(dataDirectory, "backup.gz");
  const backUpNow = () =>
    backUp(config, { file: backup, withKeys: true, clock: systemClock, signal: new AbortController().signal });
  /** Sets the kind of the page that is the root of one of LMDB's two trees to zero. */
  const damageRoot = (root: 0x58 | 0x88): void => {
    const file = readFileSync(store);
    const meta = file.readBigUInt64LE(0x98) > file.readBigUInt64LE(0x1098) ? 0 : 0x1000;
    const descriptor = openSync(store, "r+"); // in its place, because a server may have mapped the file
    writeSync(descriptor, Buffer.alloc(2), 0, 2, Number(file.readBigUInt64LE(meta + root)) * 0x1000 + 18);
    closeSync(descriptor);
  };
  const finds = async (message: RegExp): Promise<void> => {
    await assert.rejects(startTestServer({ storage: "lmdb", dataDirectory }), { name: "UsageError", message });
    await assert.rejects(runEncryption(config, { type: "status" }), { name: "UnusableFile", message });
    const bad = (await examineServer(config, Date.now())).filter(({ state }) => state === "bad");
    assert.deepEqual(
      bad.map(({ subject }) => subject),
      ["storage"],
    );
    assert.match(bad[0]?.advice ?? "", message);
  };
  before(async () => {
    await (await startTestServer({ storage: "lmdb", dataDirectory })).stop();
  });

  it("do not start, and the store can be backed up, where LMDB would forget the last write, because its number is damaged", async () => {
    const file = readFileSync(store);
    const newest = file.readBigUInt64LE(0x98) > file.readBigUInt64LE(0x1098) ? 0x98 : 0x1098;
    const number = Buffer.from(file.subarray(newest, newest + 8));
    const write = (bytes: Buffer): void => {
      const descriptor = openSync(store, "r+");
      writeSync(descriptor, bytes, 0, 8, newest);
      closeSync(descriptor);
    };
    write(Buffer.alloc(8));
    await finds(/store\.mdb is damaged \(page 0\); the last writes may be missing: make a backup of the rest/);
    assert.ok((await backUpNow()).objects > 40);
    write(number);
  });

  it("start, and write, where the last transaction failed because the disk did not write its meta data", async () => {
    const file = readFileSync(store);
    const newest = file.readBigUInt64LE(0x98) > file.readBigUInt64LE(0x1098) ? 0x98 : 0x1098;
    // As LMDB does then: what the transaction wrote, with the number that was there before.
    const before = Buffer.alloc(8);
    before.writeBigUInt64LE(file.readBigUInt64LE(newest) - 2n);
    const descriptor = openSync(store, "r+");
    writeSync(descriptor, before, 0, 8, newest);
    closeSync(descriptor);
    const configMaps = (server: TestServer) =>
      server.client.resource(resourceReferences(platformNames).configMaps, "default");
    const server = await startTestServer({ storage: "lmdb", dataDirectory });
    await configMaps(server).create({ metadata: { name: "later" } });
    await server.stop();
    const again = await startTestServer({ storage: "lmdb", dataDirectory });
    assert.notEqual(await configMaps(again).find("later"), undefined);
    await again.stop();
  });

  it("do not start, and the store can be backed up, where the page is of the list of free pages", async () => {
    damageRoot(0x58);
    await finds(/store\.mdb is damaged \(page \d+\); all objects can be read: make a backup of it/);
    assert.ok((await backUpNow()).objects > 40);
  });

  it("do not start, and the last backup is kept, where the page leads to objects", async () => {
    const kept = readFileSync(backup);
    damageRoot(0x88);
    await finds(/store\.mdb is damaged \(page \d+\); restore a backup/);
    await assert.rejects(backUpNow(), { name: "UnusableFile" });
    assert.deepEqual(readFileSync(backup), kept);
  });

  it("answers a 503 that names signet doctor, where the page is damaged while the server runs", async () => {
    rmSync(join(dataDirectory, "store"), { recursive: true });
    const server = await startTestServer({ storage: "lmdb", dataDirectory });
    damageRoot(0x88);
    const { code, message } = await new InProcess(server).json<{ code: number; message: string }>("/api/v1/namespaces");
    assert.equal(code, 503);
    assert.match(message, /^the store can't be read now: signet doctor looks for damage of the store \(MDB_BAD_TXN/);
    await server.stop();
  });
});

it("a server without its encryption key says that first, also when the store has damaged Secrets", async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "signet-damaged-"));
  const start = () => startTestServer({ storage: "lmdb", dataDirectory });
  const server = await start();
  for (const name of ["a-broken", "sound"])
    await new InProcess(server).json("/api/v1/namespaces/default/secrets", {
      method: "POST",
      body: { metadata: { name } },
    });
  await server.stop();
  await damageWrite(join(dataDirectory, "store"), { key: "/registry/secrets/default/a-broken", how: "changed" });
  const key = join(dataDirectory, "encryption.key");
  renameSync(key, `${key}.away`);
  await assert.rejects(start(), { name: "UsageError", message: /encryption\.key is gone, .+: put it back/ });
  renameSync(`${key}.away`, key);
  await (await start()).stop();
  rmSync(dataDirectory, { recursive: true });
});
