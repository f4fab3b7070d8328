import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import fs, {
  chmodSync,
  chownSync,
  mkdirSync,
  rmdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TestContext } from "node:test";
import type { AgentSettings, ServiceCertificate } from "../../../src/agent/agent-settings.ts";
import type { CertificateOutput } from "../../../src/agent/files/certificate-output.ts";
import { CertificateStore } from "../../../src/agent/certificates/certificate-store.ts";
import { checkAgent } from "../../../src/agent/check/check-agent.ts";
import {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
} from "../../../src/features/certificates/resources.ts";
import { secretResource } from "../../../src/features/core/resources.ts";
import { bindingKeys } from "../../../src/features/nodes/bootstrap/bootstrap-binding.ts";
import { bootstrapGroup, permitNodeBootstrap } from "../../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { encodedText } from "../../../src/features/core/secret-texts.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ownDataDirectory } from "../../../src/agent/own-data-directory.ts";
import { startAgent } from "../../../src/agent/start-agent.ts";
import { ownFolder } from "../../../src/machinery/files/folders/owned-folder.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { showAllFilesAs } from "../../machinery/files/show-all-files-as.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";
import { newPair } from "../new-pair.ts";
import { logTo } from "../log-to.ts";
import { outputsIn } from "../files/output-writer.ts";
import { settingsOf } from "../settings-of.ts";

const serviceOf = (...outputs: readonly CertificateOutput[]): ServiceCertificate => ({
  name: "web",
  signerName: "example.com/services",
  commonName: "",
  organizations: [],
  dnsNames: ["web.example"],
  ipAddresses: [],
  emailAddresses: [],
  uris: [],
  usages: ["server auth"],
  keyType: "ECDSA P-256",
  lifetimeSeconds: undefined,
  renewalShare: undefined,
  outputs,
  hook: undefined,
});

describe("the check of an agent's settings", () => {
  let server: TestServer;
  const folder = mkdtempSync(join(tmpdir(), "signet-check-"));
  before(async () => {
    server = await startTestServer();
    await waitForDefaultAccount(server);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const settings = (changed: Partial<AgentSettings> = {}): AgentSettings =>
    settingsOf({
      servers: [server.url],
      caCertificates: () => server.caCertificates,
      caSource: "--ca-file",
      bootstrap: { type: "token", source: "a test", token: () => server.adminToken },
      dataDirectory: join(folder, "data"),
      ...changed,
    });

  const check = async (changed: Partial<AgentSettings> = {}): Promise<readonly string[]> => {
    const lines: string[] = [];
    const isInOrder = await checkAgent(settings(changed), { print: (line) => lines.push(line), version: "test" });
    assert.equal(
      isInOrder,
      lines.every((line) => !line.startsWith("FAULT")),
    );
    return lines.filter((line) => !line.startsWith("ok "));
  };

  it("finds no fault in settings that work", async () => {
    assert.deepEqual(await check(), []);
  });

  it("says to give the server's CA where none is given", async () => {
    const without = { caCertificates: () => undefined, caSource: undefined };
    const [line = "", ...others] = await check(without);
    assert.deepEqual(others, []);
    assert.match(
      line,
      /^FAULT {2}the server .+: its certificate is from a CA that .*; give the server's CA with --ca-file/,
    );
  });

  it("finds a credential that the server accepts and that may not request certificates", async () => {
    const { status } = await server.client.request<{ status: { token: string } }>(
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      { method: "POST", body: { apiVersion: "authentication.platform.io/v1", kind: "TokenRequest", spec: {} } },
    );
    const bootstrap = { type: "token", source: "a test", token: () => status.token } as const;
    const [line = "", ...others] = await check({ bootstrap });
    assert.deepEqual(others, []);
    assert.match(
      line,
      /^FAULT .* does not permit the request \(403\): .*: signet bootstrap-token create makes the bindings/,
    );
  });

  it("finds a bootstrap token for another node, and one that another key has used, and stores no request", async () => {
    const options = { groups: [bootstrapGroup], expiresAt: undefined, description: undefined };
    const { token, secret } = newBootstrapToken(names, { ...options, nodeNames: "n7", isForOneUse: true });
    const { client } = server;
    await permitNodeBootstrap({ client, names });
    const secrets = client.resource(secretResource(names), names.namespaces.system);
    const unused = await secrets.create(secret);
    const bootstrap = { type: "token", source: "a test", token: () => token } as const;
    const [line = "", ...others] = await check({ bootstrap, nodeName: "n8" });
    assert.deepEqual(others, []);
    assert.match(line, /^FAULT {2}the server .*: this bootstrap token is for "n7", not for "n8"$/);

    const dataDirectory = join(folder, "n7");
    const joining = { bootstrap, nodeName: "n7", dataDirectory };
    assert.deepEqual(await check(joining), []);
    assert.deepEqual((await client.resource(certificateSigningRequestResource(names)).list()).items, []);
    const { keyPem, certificate } = newPair();
    const used = {
      [bindingKeys.usedByKey]: encodedText(hash("sha256", certificate.publicKey.spki, "hex")),
      [bindingKeys.usedByNode]: encodedText("n7"),
    };
    await secrets.update({ ...unused, data: { ...unused.data, ...used } });
    const store = new CertificateStore(join(dataDirectory, "pki"), "client");
    store.keepPendingKey(keyPem);
    assert.deepEqual(await check(joining), []);
    store.forgetPendingKey();
    assert.match((await check(joining)).join(), /this bootstrap token is for one use, and another key has used it/);
  });

  it("finds files that are mounted by themselves, which no agent can replace", async (context) => {
    const [certificate, anchors] = [join(folder, "of a container.pem"), join(folder, "anchors.pem")];
    for (const file of [certificate, anchors]) {
      writeFileSync(file, "");
      if (spawnSync("mount", ["--bind", file, file]).status !== 0) return context.skip("files can't be mounted");
      context.after(() => spawnSync("umount", [file]));
    }
    const outputs = [{ type: "pem", file: certificate, ownership: { mode: 0o600 } }] as const;
    const trustBundles = [{ source: { signerName: "example.com/none" }, file: anchors, hook: undefined }];
    const lines = await check({ certificates: [serviceOf(...outputs)], trustBundles });
    const why = "is mounted by itself, so it cannot be replaced; mount its folder in its place";
    assert.deepEqual(lines.slice(0, 2), [
      `FAULT  web: ${certificate}: ${certificate} ${why}`,
      `FAULT  the file ${anchors}: ${anchors} ${why}`,
    ]);
  });

  it("does not take a file for mounted whose mount is hidden by a later one", async (context) => {
    const hidden = join(folder, "hidden");
    const file = join(hidden, "web.pem");
    mkdirSync(hidden);
    writeFileSync(file, "");
    context.after(() => {
      for (const place of [hidden, file]) spawnSync("umount", [place]);
      rmSync(join(folder, "web.pem"), { force: true });
    });
    for (const [source, place] of [
      [file, file],
      [folder, hidden],
    ] as const) {
      if (spawnSync("mount", ["--bind", source, place]).status !== 0) return context.skip("files can't be mounted");
    }
    writeFileSync(file, "");
    const outputs = [{ type: "pem", file, ownership: { mode: 0o600 } }] as const;
    assert.deepEqual(await check({ certificates: [serviceOf(...outputs)] }), []);
  });

  it("finds that nothing introduces the machine, at each server", async () => {
    const [line = "", ...others] = await check({ bootstrap: { type: "none" } });
    assert.deepEqual(others, []);
    assert.match(
      line,
      /^FAULT {2}the server .+: there is neither a client certificate of this node nor a bootstrap credential/,
    );
  });

  it("says what to do when the server cannot be reached", async () => {
    const [line = ""] = await check({ servers: ["https://127.0.0.1:1"] });
    assert.match(
      line,
      /^FAULT {2}the server https:\/\/127.0.0.1:1: nothing listens there; start it with signet serve, or/,
    );
  });

  it("finds a port that another program has taken, and an address that the machine does not have", async (context) => {
    const taken = createServer().listen(0, "127.0.0.1");
    context.after(() => taken.close());
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo; // it listens on TCP
    const [line = ""] = await check({ port });
    assert.match(line, /^FAULT {2}the port \d+: another program uses 127.0.0.1:\d+; stop it, or choose another/);
    const [other = ""] = await check({ port, listenAddress: "192.0.2.1" });
    assert.match(other, /^FAULT {2}the port \d+: this machine has no address 192.0.2.1:\d+; choose one that it has/);
  });

  const bundle = (bundleName: string, file: string): Partial<AgentSettings> => ({
    trustBundles: [{ source: { bundleName }, file: join(folder, file), hook: undefined }],
  });

  it("finds a key store of trust anchors whose password cannot be read", async () => {
    const file = join(folder, "trust.p12");
    const password = (): string => assert.fail("the password file is missing");
    const store = { type: "pkcs12", passwordFile: join(folder, "nosuch"), password } as const;
    const trustBundles = [{ source: { bundleName: "nosuch" }, file, store, hook: undefined }];
    const [found] = await check({ trustBundles });
    assert.equal(found, `FAULT  the password of ${file}: the password file is missing`);
  });

  it("finds a signer with more trust bundles than the agent follows, once for all its files", async () => {
    const bundles = server.client.resource(clusterTrustBundleResource(names));
    const signerName = "example.com/many";
    const spec = { signerName, trustBundle: server.caCertificates };
    for (let index = 0; index <= 100; index++) {
      await bundles.create({ apiVersion: "", kind: "", metadata: { name: `example.com:many:${index}` }, spec });
    }
    const trustBundles = ["many.pem", "other.pem"].map((name) => ({
      source: { signerName },
      file: join(folder, name),
      hook: undefined,
    }));
    assert.deepEqual(await check({ trustBundles }), [
      "FAULT  the trust bundles of the signer example.com/many: there are more than 100, and the agent follows none of them",
    ]);
  });

  it("finds a trust bundle that the server does not have, and skips those that it may not read", async () => {
    const missing = await check(bundle("nosuch", "a.pem"));
    assert.deepEqual(missing, [
      "FAULT  the trust bundle nosuch: there is none; check the name: signet trust list shows all",
    ]);
    const nobody = { bootstrap: { type: "token", source: "a test", token: () => "unknown" } } as const;
    const refused = await check({ ...bundle("nosuch", "a.pem"), ...nobody });
    assert.match(refused.at(-1) ?? "", /^not checked {2}the trust bundle nosuch: no server answers$/);
  });

  it("leaves every file as it is, also what the agent that runs is just writing", async (context) => {
    const pki = join(folder, "running", "pki");
    context.after(() => rmSync(pki, { recursive: true }));
    const pair = newPair();
    const store = new CertificateStore(pki, "client");
    store.install(pair, { now: 0, wantedDigest: "" });
    store.keepPendingKey(pair.keyPem);
    writeFileSync(join(pki, "client-1970-01-01-00-00-00-001.pem.0123456789ab.new"), "");
    const before = readdirSync(pki);
    await check({ dataDirectory: dirname(pki) });
    assert.deepEqual(readdirSync(pki), before);
  });

  it("blames the data directory, and no server, for a certificate that it may not read", async (context) => {
    const data = join(folder, "unreadable");
    mkdirSync(join(data, "pki"), { recursive: true });
    symlinkSync("client-current.pem", join(data, "pki", "client-current.pem"));
    context.after(() => rmSync(data, { recursive: true }));
    const [ofData = "", ofServer = "", ofBundle = "", ...others] = await check({
      ...bundle("nosuch", "a.pem"),
      dataDirectory: data,
    });
    assert.deepEqual(others, []);
    assert.match(
      ofData,
      /^FAULT {2}the data directory .+unreadable: .+client-current\.pem: its symbolic links form a loop/,
    );
    assert.match(ofServer, /^not checked {2}the server \S+: the data directory cannot be used$/);
    assert.match(ofBundle, /^not checked {2}the trust bundle nosuch: the data directory cannot be used$/);
  });

  it("says in plain words why the system refuses a file, and what to do", async (context) => {
    const file = join(folder, "loop.pem");
    symlinkSync("loop.pem", file);
    context.after(() => rmSync(file));
    const findings = await check(bundle("nosuch", "loop.pem"));
    const found = findings.find((finding) => finding.includes("the file "));
    assert.equal(found, `FAULT  the file ${file}: its symbolic links form a loop; name another`);
  });

  it("says which folder the agent makes", async () => {
    const lines: string[] = [];
    await checkAgent(settings({ dataDirectory: join(folder, "not", "there") }), {
      print: (line) => lines.push(line),
      version: "test",
    });
    assert.match(lines[1] ?? "", /^ok {2}the data directory .+there: the folder is not there yet; the agent makes it$/);
  });

  it("finds a folder of a certificate that others can change, and one in the place of its file", async () => {
    const [file = assert.fail(), asFolder = assert.fail()] = outputsIn(join(folder, "outputs"));
    const certificates = [serviceOf(file, asFolder)];
    assert.deepEqual(await check({ certificates }), []);
    for (const name of ["web.pem", "tls"]) mkdirSync(join(folder, "outputs", name), { recursive: true });
    chmodSync(join(folder, "outputs", "tls"), 0o777);
    const [ofFile = "", ofFolder = "", ...others] = await check({ certificates });
    assert.deepEqual(others, []);
    assert.match(ofFile, /^FAULT {2}web: .+web\.pem: .+web\.pem is a folder; name a file$/);
    assert.match(ofFolder, /^FAULT {2}web: .+tls: .+tls can be changed by other users: it must belong to the agent's/);
  });

  it("finds what no link can replace in a folder of a certificate", async () => {
    const [, asFolder = assert.fail()] = outputsIn(join(folder, "versions"));
    for (const [name, fault] of [
      ["tls.key", "tls.key is a folder; name a file"],
      ["..data", "..data is a folder where a link has to be; remove it, or name another folder"],
    ] as const) {
      const inTheWay = join(folder, "versions", "tls", name);
      mkdirSync(inTheWay, { recursive: true });
      const [found = ""] = await check({ certificates: [serviceOf(asFolder)] });
      assert.ok(found.startsWith("FAULT  web: ") && found.endsWith(fault), found);
      rmdirSync(inTheWay);
    }
  });

  it("finds a file system without modes or links where the agent needs them, and leaves nothing there", async (context) => {
    const [file = assert.fail(), asFolder = assert.fail()] = outputsIn(join(folder, "simple"));
    mkdirSync(join(folder, "simple", "tls"), { recursive: true, mode: 0o755 });
    mkdirSync(join(folder, "simple", "data"), { mode: 0o700 });
    const simple = {
      certificates: [serviceOf(file, asFolder)],
      dataDirectory: join(folder, "simple", "data"),
    };
    const shown = showAllFilesAs(context, 0o777);
    const withoutModes = await check(simple);
    assert.equal(withoutModes.length, 3);
    for (const line of withoutModes)
      assert.match(line, /^FAULT .*: its file system makes the mode 0777 of 0600; name a/);
    shown.mode = 0o700;
    assert.deepEqual(await check(simple), []);
    context.mock.method(fs, "symlinkSync", () => {
      throw Object.assign(new Error("EPERM: operation not permitted"), { code: "EPERM" });
    });
    syncBuiltinESMExports();
    const [ofData = "", ofFolder = "", ...others] = await check(simple);
    assert.deepEqual(others, []);
    assert.match(ofData, /^FAULT {2}the data directory .+: its file system has no symbolic links, or/);
    assert.match(ofFolder, /^FAULT {2}web: .+tls: its file system has no symbolic links, or/);
    const left = ["", "data", "tls"].map((name) => readdirSync(join(folder, "simple", name)).length);
    assert.deepEqual(left, [2, 0, 0]);
  });

  it("finds a full disk, on which an empty file can still be made, and leaves nothing there", async (context) => {
    const dataDirectory = join(folder, "full");
    const [file = assert.fail()] = outputsIn(join(folder, "full files"));
    mkdirSync(dataDirectory, { mode: 0o700 });
    mkdirSync(join(folder, "full files"));
    const fail = (): never => {
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    };
    const full = [context.mock.method(fs, "writeFileSync", fail), context.mock.method(fs, "writeSync", fail)];
    syncBuiltinESMExports();
    const [ofData = "", ofFile = "", ...others] = await check({ dataDirectory, certificates: [serviceOf(file)] });
    for (const { mock } of full) mock.restore();
    syncBuiltinESMExports();
    assert.deepEqual(others, []);
    assert.match(
      ofData,
      /^FAULT {2}the data directory .+full: .+: 1 MiB of free space is needed to start: no space is/,
    );
    assert.match(ofFile, /^FAULT {2}web: .+web\.pem: .+: no space is left on the disk, or/);
    for (const name of ["full", "full files"]) assert.deepEqual(readdirSync(join(folder, name)), []);
  });

  it("finds a data directory with which no agent starts: one that others can write to, and a link to nothing", async () => {
    const dataDirectory = join(folder, "of all");
    mkdirSync(dataDirectory);
    chmodSync(dataDirectory, 0o777);
    const [ofAll = "", ...others] = await check({ dataDirectory });
    assert.deepEqual(others, []);
    assert.match(ofAll, /^FAULT {2}the data directory .+: other users can write to it \(mode 0777\); chmod 700 it/);
    const link = join(folder, "link");
    symlinkSync(join(folder, "nothing"), link);
    const [ofLink = ""] = await check({ dataDirectory: join(link, "data") });
    assert.match(
      ofLink,
      /^FAULT {2}the data directory .+: .+link is a link to a folder that does not exist; make that/,
    );
  });

  it(
    "lets root check the data directory of the agent's user, and uses no credential in place of that user's keys",
    { skip: process.getuid?.() !== 0 && "only root can act for others" },
    async () => {
      const dataDirectory = join(folder, "of the agent");
      mkdirSync(dataDirectory, { mode: 0o700 });
      chownSync(dataDirectory, 12_345, 12_345);
      assert.deepEqual(await check({ dataDirectory }), []);
      mkdirSync(join(dataDirectory, "pki"), { mode: 0o700 });
      chownSync(join(dataDirectory, "pki"), 12_345, 12_345);
      const [ofServer = "", ...others] = await check({ dataDirectory });
      assert.deepEqual(others, []);
      assert.match(ofServer, /^not checked {2}the server .+: the agent's keys belong to another user; run the same/);
    },
  );
  it("finds folders with the names of files without which no agent starts, and starts none with them", async () => {
    const dataDirectory = join(folder, "blocked");
    for (const name of ["owner.lock", "members.lock", "owner.json"]) {
      const inTheWay = join(dataDirectory, name);
      mkdirSync(inTheWay, { recursive: true, mode: 0o700 });
      const fault = `${inTheWay} is a folder where a file has to be; remove it`;
      assert.deepEqual(await check({ dataDirectory }), [`FAULT  the data directory ${dataDirectory}: ${fault}`]);
      assert.throws(() => ownFolder(dataDirectory), { name: "UnusableFile", message: fault });
      rmdirSync(inTheWay);
    }
  });

  it("finds a folder of certificates that other users can write to, and starts no agent with it", async () => {
    const dataDirectory = join(folder, "shared");
    const pki = join(dataDirectory, "pki");
    mkdirSync(pki, { recursive: true, mode: 0o700 });
    ownDataDirectory(dataDirectory).release();
    chmodSync(pki, 0o777);
    const fault = `${pki}: other users can write to it (mode 0777); chmod 700 it, or name another`;
    assert.deepEqual(await check({ dataDirectory }), [`FAULT  the data directory ${dataDirectory}: ${fault}`]);
    assert.throws(() => ownDataDirectory(dataDirectory), { name: "UnusableFile", message: fault });
  });

  it("finds a data directory that other users could replace, and starts no agent with it", async () => {
    const shared = join(folder, "open to all");
    const dataDirectory = join(shared, "data");
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    const fault = `${shared} can be changed by all users, who could put something else in the place of ${dataDirectory}; chmod o-w it, or name a folder elsewhere`;
    for (const make of [() => {}, () => mkdirSync(dataDirectory, { mode: 0o700 })]) {
      make();
      assert.deepEqual(await check({ dataDirectory }), [`FAULT  the data directory ${dataDirectory}: ${fault}`]);
      assert.throws(() => ownDataDirectory(dataDirectory), { name: "UnusableFile", message: fault });
    }
    assert.deepEqual(readdirSync(dataDirectory), []);
  });

  it("takes no folder beside the files for the place of a file", async () => {
    const dataDirectory = join(folder, "crowded");
    mkdirSync(join(dataDirectory, "check"), { recursive: true });
    assert.deepEqual(await check({ certificates: [], dataDirectory }), []);
  });

  it("finds a file that cannot be written", async () => {
    writeFileSync(join(folder, "file"), "");
    const [inFile = ""] = await check(bundle("nosuch", "file/a.pem"));
    assert.match(inFile, /^FAULT {2}the file .+a.pem: .+file is a file, not a folder; name another$/);
    mkdirSync(join(folder, "taken.pem"));
    const [asFolder = ""] = await check(bundle("nosuch", "taken.pem"));
    assert.match(asFolder, /^FAULT {2}the file .+taken.pem: .+ is a folder; name a file$/);
    mkdirSync(join(folder, "open"));
    chmodSync(join(folder, "open"), 0o777);
    const [inOpen = ""] = await check(bundle("nosuch", "open/trust/a.pem"));
    assert.match(inOpen, /^FAULT {2}the file .+a.pem: .+open can be changed by all users, .* chmod o-w it/);
  });
});

describe("the log of an agent", () => {
  it("names the server that is away, and says what to do", async (context: TestContext) => {
    const folder = mkdtempSync(join(tmpdir(), "signet-check-"));
    const messages: string[] = [];
    const write = (_fields: unknown, message: string): void => void messages.push(message);
    const agent = await startAgent(
      settingsOf({
        servers: ["https://127.0.0.1:1"],
        caCertificates: () => undefined,
        bootstrap: { type: "token", source: "a test", token: () => "a" },
        dataDirectory: folder,
      }),
      { log: logTo(write), version: "test" },
    );
    context.after(async () => {
      await agent.stop();
      rmSync(folder, { recursive: true });
    });
    const line = await eventually("a failure", () => messages.find((message) => message.startsWith("not connected")));
    assert.match(line, /: cannot reach the server https:\/\/127.0.0.1:1: nothing listens there; start it with signet/);
  });
});
