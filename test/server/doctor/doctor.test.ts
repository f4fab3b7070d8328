import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { abortRotation, prepareAuthority } from "../../../src/features/certificates/authorities/rotate-authority.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { StoreDamaged } from "../../../src/machinery/storage/store.ts";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { alarmAdvice } from "../../../src/machinery/storage/etcd/etcd-errors.ts";
import { ownChainKey, writePublicKey } from "../../../src/machinery/audit/chain/chain-key.ts";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { examineDisk } from "../../../src/server/doctor/examine-data-directory.ts";
import { examinePermissions } from "../../../src/server/doctor/examine-permissions.ts";
import { examineEtcdAlarms, examineEtcdClocks } from "../../../src/server/doctor/examine-etcd.ts";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import type { Finding } from "../../../src/server/doctor/finding.ts";
import { writeSupportBundle } from "../../../src/server/doctor/doctor-programs.ts";
import { withKeyStore } from "../../../src/server/store/open-key-store.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { ProtobufWriter } from "../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { startFakeEtcd } from "../../machinery/storage/etcd/fake-etcd.ts";
import { put } from "../../machinery/storage/store-contract.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";
import { makeDamagedStore } from "../store/damaged-store.ts";
import { InProcess } from "../in-process.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const day = 86_400_000;

test("signet doctor takes a file system that does not say what is free for no full disk", () => {
  const [disk = assert.fail()] = examineDisk("/proc");
  assert.equal(disk.state, "good");
});

test("signet doctor finds that the store's file has lost an object, and says what to do", async () => {
  const dataDirectory = temporaryFolder();
  await makeDamagedStore(dataDirectory);

  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const findings = await examineServer(config, Date.now());
  assert.deepEqual(
    findings.filter(({ subject, state }) => subject === "storage" && state !== "good"),
    [
      {
        state: "bad",
        subject: "storage",
        found: "the store's file is damaged: 1 object can't be read",
        advice: StoreDamaged.advice,
      },
    ],
  );
});

test("signet doctor advises no older backup for a store that only has to be used in another way", async () => {
  const dataDirectory = temporaryFolder();
  const directory = join(dataDirectory, "store");
  await new LmdbStore({ directory, profile: "platform" }).close();
  const mark = join(dataDirectory, "store.in-etcd");
  writeFileSync(mark, "");

  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const findings = await examineServer(config, Date.now());
  assert.deepEqual(
    findings.filter(({ subject }) => subject === "storage"),
    [
      {
        state: "bad",
        subject: "storage",
        found: "the store does not open",
        advice:
          `--data-dir: a move of its objects between ${directory} and etcd broke off: give --etcd-servers; or, where etcd refuses that, ` +
          `remove ${mark} to use that store`,
      },
    ],
  );
});

test("signet doctor finds Secrets that are stored in plain, and one whose key is not there", async () => {
  const dataDirectory = temporaryFolder();
  const store = new LmdbStore({ directory: join(dataDirectory, "store"), profile: "platform" });
  await put(store, "/registry/secrets/default/plain", "{}");
  await put(store, "/registry/secrets/default/sealed", "signet:enc:aesgcmderived:v1:0123456789abcdef:sealed");
  await store.close();

  const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
  const findings = await examineServer(config, Date.now());
  assert.deepEqual(
    findings.filter(({ subject }) => subject === "encryption"),
    [
      {
        state: "bad",
        subject: "encryption",
        found: "1 object can't be decrypted",
        advice: "see signet encryption status; put their key back",
      },
      {
        state: "warning",
        subject: "encryption",
        found: "Secrets are not encrypted in the store",
        advice: "start the server, which makes encryption.key; then: signet encryption rewrite",
      },
    ],
  );
});

describe("signet doctor beside a running server", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-doctor-"));
  const tokenFile = join(folder, "tokens.csv");
  const dataDirectory = join(folder, "data");
  const staticToken = "very-static-token";
  let server: TestServer;
  let api: InProcess;
  const settings = { "data-dir": dataDirectory, "token-auth-file": tokenFile };
  const configOf = (more: Record<string, string> = {}) =>
    parseServerConfig({ commandLine: { ...settings, ...more }, file: {} });
  const examine = async (more: Record<string, string> = {}, now = Date.now()) =>
    await examineServer(configOf(more), now);
  const troubles = (findings: readonly Finding[]): string[] =>
    findings
      .filter(({ state }) => state !== "good")
      .map(({ state, subject, found }) => `${state} ${subject}: ${found}`);
  const known = /--token-auth-file/;
  const newTroubles = async (more: Record<string, string> = {}, now?: number): Promise<string[]> =>
    troubles(await examine(more, now)).filter((line) => !known.test(line));

  before(async () => {
    writeFileSync(tokenFile, `${staticToken},admin,admin-uid,"system:masters"\n`, { mode: 0o600 });
    server = await startTestServer({ storage: "lmdb", dataDirectory, tokenFile });
    await waitForDefaultAccount(server);
    api = new InProcess(server);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("finds nothing wrong with a new one", async () => {
    assert.deepEqual(await newTroubles(), []);
  });

  it("finds certificates that expire soon or have expired, and a clock that is behind", async () => {
    const ofCa = async (now: number): Promise<object[]> =>
      (await examine({}, now))
        .filter(({ found }) => found.includes("/ca.crt"))
        .map(({ state, advice }) => ({ state, advice }));
    assert.deepEqual(await ofCa(Date.now() + 3640 * day), [
      { state: "warning", advice: "replace it before that: signet ca prepare ca, then signet ca switch ca" },
    ]);
    assert.deepEqual(await ofCa(Date.now() + 4000 * day), [
      { state: "bad", advice: "replace it now: signet ca prepare ca, then signet ca switch ca --force" },
    ]);
    const early = await newTroubles({}, Date.now() - 10 * day);
    assert.ok(
      early.some((line) => line.startsWith("bad clock")),
      early.join("\n"),
    );
  });

  it("names the CA of a configured signer by the signer in the commands that replace it", async (context) => {
    const signers = join(dataDirectory, "signers");
    mkdirSync(signers);
    context.after(() => rmSync(signers, { recursive: true }));
    const file = join(signers, "example.com:services.crt");
    copyFileSync(join(dataDirectory, "ca.crt"), file);
    const [finding] = (await examine({}, Date.now() + 3640 * day)).filter(({ found }) => found.startsWith(file));
    const name = "example.com/services";
    assert.equal(finding?.advice, `replace it before that: signet ca prepare ${name}, then signet ca switch ${name}`);
  });

  it("finds the server's and the administrator's own certificates when they were not renewed", async () => {
    const ofOwn = async (now: number): Promise<string[]> =>
      (await newTroubles({}, now)).filter((line) => /certificate: the (?:serving )?certificate /.test(line));
    assert.deepEqual(await ofOwn(Date.now()), []);
    const late = await ofOwn(Date.now() + 300 * day);
    assert.deepEqual(
      late.map((line) => line.replace(/\d{4}-\S+Z/, "TIME")),
      ["the serving certificate", "the certificate in admin.kubeconfig"].map((what) =>
        what.includes("admin") && late[1]?.includes("ended")
          ? `bad certificate: ${what} ended at TIME`
          : `warning certificate: ${what} ends at TIME, and should have been renewed`,
      ),
    );
    const own = join(dataDirectory, "serving.pem");
    const before = readFileSync(own, "utf8");
    writeFileSync(own, "no PEM");
    assert.deepEqual(await newTroubles(), [`bad certificate: ${own} holds no key with a certificate`]);
    writeFileSync(own, before);
  });

  it("finds the server's own certificates that are not valid yet, and says what to do about the clock", async () => {
    const findings = await examine({}, Date.now() - 10 * day);
    assert.deepEqual(
      findings.filter(({ found }) => found.includes("ca.crt")).map(({ advice }) => advice),
      Array.from(
        { length: 4 },
        () =>
          "set this machine's clock if it is slow; if it is right, replace the certificate (signet ca replaces CAs)",
      ),
    );
    const early = findings.filter(({ found }) => /^the (?:serving )?certificate /.test(found));
    const advice =
      "set this machine's clock if it is slow; if it is right, restart the server, which makes a new one, and copy admin.kubeconfig again to where it is used";
    assert.deepEqual(
      early.map((finding) => ({ ...finding, found: finding.found.replace(/\d{4}-\S+Z/, "TIME") })),
      ["the serving certificate", "the certificate in admin.kubeconfig"].map((what) => ({
        state: "bad",
        subject: "clock",
        found: `${what} begins only at TIME`,
        advice,
      })),
    );
  });

  it("warns of a CA beside the one that signs that is not valid now, and advises to end the trust in it", async () => {
    const file = join(dataDirectory, "nodeagent-serving-ca.crt");
    const before = readFileSync(file, "utf8");
    const add = (days: readonly [from: number, to: number]): string => {
      const [notBefore, notAfter] = days.map((one) => Date.now() + one * day);
      assert.ok(notBefore !== undefined && notAfter !== undefined);
      const privateKey = generatePrivateKey("ECDSA P-256");
      const made = createCertificateAuthority({ subject: { commonName: "other" }, privateKey, notBefore, notAfter });
      return encodePem("CERTIFICATE", made.certificate.der);
    };
    writeFileSync(file, before + add([10, 20]) + add([-20, -10]));
    const findings = (await examine()).filter(({ found }) => found.includes("(CN=other)"));
    assert.deepEqual(
      findings.map((finding) => ({ ...finding, found: finding.found.replace(/\d{4}-\S+Z/, "TIME") })),
      ["begins only at TIME", "ended at TIME"].map((when) => ({
        state: "warning",
        subject: "certificate",
        found: `${file} (CN=other) ${when}, and does not sign now`,
        advice: "if signet ca list shows it as replaced, end the trust in it: signet ca retire nodeagent-serving-ca",
      })),
    );
    writeFileSync(file, before);
  });

  it("finds that the key which opens the private keys in the store is lost, or that of another server", async () => {
    const file = join(dataDirectory, "sealing.key");
    const before = readFileSync(file, "utf8");
    await withKeyStore(configOf(), async (keys) => prepareAuthority(keys, { name: "ca", clock: systemClock }));
    const sealed = async (): Promise<Finding[]> => (await examine()).filter(({ subject }) => subject === "sealed keys");
    assert.deepEqual(
      (await sealed()).map(({ state }) => state),
      ["good"],
    );
    rmSync(file);
    const [lost = assert.fail()] = await sealed();
    assert.equal(lost.state, "bad");
    assert.match(lost.found, /^the private keys in the store \(2\) can't be used: .*sealing\.key is not there/);
    writeFileSync(file, `${Buffer.alloc(32, 1).toString("base64")}\n`, { mode: 0o600 });
    const [other = assert.fail()] = await sealed();
    assert.match(other.found, /is not what the CA \w+ is sealed with/);
    writeFileSync(file, before, { mode: 0o600 });
    await withKeyStore(configOf(), async (keys) => abortRotation(keys, { name: "ca", clock: systemClock }));
  });

  it("names file and field of settings that the server would refuse", async () => {
    const config = (kind: string, rest: string): string =>
      `apiVersion: apiserver.config.k8s.io/v1\nkind: ${kind}\n${rest}`;
    const faulty: Readonly<Record<string, readonly [text: string, found: RegExp]>> = {
      "authorization-config": [
        config("AuthorizationConfiguration", "authorizers: [{type: Oracle, name: o}]"),
        /authorizers\[0\]\.type: /,
      ],
      "authentication-config": [
        config("AuthenticationConfiguration", "jwt: [{issuer: {url: 'http://x'}}]"),
        /jwt\[0\]\.issuer\.url: /,
      ],
      "audit-policy-file": ["apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Loud}]", /rules\[0\]\.level: /],
      "encryption-provider-config": [
        config("EncryptionConfiguration", "resources: [{resources: [secrets], providers: [{rot13: {}}]}]"),
        /resources\[0\]\.providers\[0\]/,
      ],
      "approval-policy": ["rules: [{name: x, action: maybe}]", /rules\[0\]\.action: /],
      "signer-config": [
        "apiVersion: signet.platform.io/v1\nkind: SignerConfiguration\nsigners: [{}]",
        /signers\[0\]\.name/,
      ],
      "authentication-token-webhook-config-file": ["clusters: 7", /./],
      "service-account-key-file": ["no PEM", /./],
    };
    const given = Object.entries(faulty).map(([setting, [text]]) => {
      writeFileSync(join(folder, setting), text, { mode: 0o600 });
      return [setting, join(folder, setting)] as const;
    });
    const found = await newTroubles({ ...Object.fromEntries(given), "audit-log-path": join(folder, "audit.log") });
    for (const [setting, [, field]] of Object.entries(faulty)) {
      const lines = found.filter((line) => line.includes(join(folder, setting)));
      assert.equal(lines.length, 1, `${setting}: ${found.join("\n")}`);
      assert.match(lines[0] ?? "", new RegExp(`^bad configuration: --${setting}: `));
      assert.match(lines[0] ?? "", field);
    }
    assert.equal(found.length, given.length, found.join("\n"));
  });

  it("names each other setting whose file the server would refuse", async () => {
    const wrong = join(folder, "wrong");
    writeFileSync(wrong, "neither a key nor a token", { mode: 0o600 });
    const log = { "audit-log-path": join(folder, "audit.log"), "audit-log-chain": "true" };
    for (const [setting, more] of [
      ["client-ca-file", {}],
      ["requestheader-client-ca-file", {}],
      ["token-auth-file", {}],
      ["encryption-key-file", {}],
      ["audit-log-chain-key-file", log],
    ] as const) {
      const found = troubles(await examine({ ...more, [setting]: wrong }));
      assert.ok(
        found.some((line) => line.startsWith(`bad configuration: --${setting}: `) && line.includes(wrong)),
        `${setting}: ${found.join("\n")}`,
      );
    }
  });

  it("finds a key that others can read", async () => {
    const key = join(dataDirectory, "ca.key");
    chmodSync(key, 0o644);
    assert.deepEqual(await newTroubles(), [`bad permissions: others can read ${key}`]);
    chmodSync(key, 0o600);
  });

  it("finds a data directory that others can write to", async (context) => {
    context.after(() => chmodSync(dataDirectory, 0o700));
    chmodSync(dataDirectory, 0o722);
    assert.deepEqual(await newTroubles(), [`bad permissions: others can write to ${dataDirectory}`]);
  });

  it("does not wait for ever for certificates from a device", async () => {
    const found = await newTroubles({ "client-ca-file": "/dev/full" });
    assert.ok(
      found.includes("bad certificate: /dev/full cannot be read: it is no file of at most 16 MiB"),
      found.join(),
    );
  });

  it("does not wait for ever for the certificate of a key in a token from a pipe", async () => {
    const pipe = join(folder, "signing.crt");
    execFileSync("mkfifo", [pipe]);
    const found = await newTroubles({
      "cluster-signing-cert-file": pipe,
      "cluster-signing-key-file": "pkcs11:token=none;object=ca?module-path=/nowhere.so",
    });
    assert.match(found.join("\n"), /signing\.crt cannot be read: it is no file of at most 16 MiB/);
    assert.match(found.join("\n"), /bad outside keys: pkcs11:token=none;object=ca can't be used/);
  });

  it("does not wait for ever for a kubeconfig from a pipe, which the server refuses", async () => {
    const pipe = join(folder, "kubeconfig");
    execFileSync("mkfifo", [pipe]);
    assert.deepEqual(await newTroubles({ "audit-webhook-config-file": pipe }), [
      `bad configuration: --audit-webhook-config-file: kubeconfig ${pipe} is a pipe; it may be read again, so write it to a file and name that`,
    ]);
  });

  it("takes no offence at the public key of the audit log's chain, which everybody may read", async (context) => {
    const [keyFile, publicFile] = [join(dataDirectory, "audit-log.key"), join(dataDirectory, "audit-log.pub")];
    context.after(() => [keyFile, publicFile].forEach((file) => rmSync(file)));
    writePublicKey(publicFile, ownChainKey(keyFile));
    assert.deepEqual(await newTroubles(), []);
  });

  it("finds a link to itself where a server writes at each start", async (context) => {
    const files = ["admin.pem", "owner.lock"].map((name) => join(dataDirectory, name));
    context.after(() => files.forEach((file) => renameSync(`${file}.away`, file)));
    for (const file of files) {
      renameSync(file, `${file}.away`);
      symlinkSync(file, file);
    }
    assert.deepEqual(
      await newTroubles(),
      files.map((file) => `bad files: ${file} is no file`),
    );
  });

  it("finds why the system refuses a file that a server writes at each start", async (context) => {
    const file = join(dataDirectory, "owner.lock");
    renameSync(file, `${file}.away`);
    context.after(() => renameSync(`${file}.away`, file));
    symlinkSync("x".repeat(300), file);
    assert.deepEqual(await newTroubles(), [`bad files: ${file}: the name is too long; name a shorter one`]);
  });

  it("finds a link that leads nowhere, or in a circle, where a key or a certificate should be", async (context) => {
    const links = ["signers.key", "circle.crt"].map((name) => join(dataDirectory, name));
    context.after(() => links.forEach((link) => rmSync(link)));
    for (const link of links) symlinkSync(link.endsWith(".key") ? "gone" : link, link);
    assert.deepEqual(
      await newTroubles(),
      links.toSorted().map((link) => `bad files: ${link} is a link that leads nowhere`),
    );
  });

  it("finds what is no file where one should be, and waits for no pipe", async (context) => {
    const [folderPath, pipe] = [join(dataDirectory, "audit-log.key"), join(dataDirectory, "admin.pem")];
    renameSync(pipe, `${pipe}.away`);
    context.after(() => {
      rmSync(folderPath, { recursive: true });
      renameSync(`${pipe}.away`, pipe);
    });
    mkdirSync(folderPath);
    execFileSync("mkfifo", [pipe]);
    assert.deepEqual(await newTroubles(), [
      `bad files: ${folderPath} is a folder, a pipe or a device`,
      `bad files: ${pipe} is no file`,
    ]);
  });

  it("warns of a token key that is gone: the next start refuses its tokens", async (context) => {
    const file = join(dataDirectory, "service-account.key");
    renameSync(file, `${file}.away`);
    context.after(() => renameSync(`${file}.away`, file));
    assert.deepEqual(await newTroubles(), [`warning key files: ${file} is gone`]);
  });

  it("finds a CA without its key", async (context) => {
    const file = join(dataDirectory, "nodeagent-client-ca.key");
    renameSync(file, `${file}.away`);
    context.after(() => renameSync(`${file}.away`, file));
    assert.match((await newTroubles()).join("\n"), /^bad key files: .+nodeagent-client-ca\.key is missing: copy it/);
  });

  it("finds keys and CAs that no server starts with, also where it cannot read the store with them", async (context) => {
    const faults = {
      "nodeagent-client-ca.key":
        /^bad key files: .+client-ca\.crt, .+client-ca\.key: .*; restore both from a backup, or, .+ \(signet ca prepare\)$/,
      "service-account.key": /^bad key files: .+service-account\.key: .*; restore it from a backup/,
      "client-authorities.json":
        /^bad key files: .+client-authorities\.json cannot be read: .*; correct it, or move it away/,
      "encryption.key": /^bad encryption: .+encryption\.key, line 1: must be the base64 of 32 bytes/,
    };
    for (const [name, fault] of Object.entries(faults)) {
      const file = join(dataDirectory, name);
      const text = readFileSync(file);
      const putBack = () => writeFileSync(file, text);
      context.after(putBack);
      writeFileSync(file, "half of a ke");
      const found = await newTroubles();
      putBack();
      assert.equal(found.length, 1, found.join("\n"));
      assert.match(found[0] ?? "", fault);
    }
  });

  it("takes what a link leads to for good when root owns it, and not when another user does", (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can make a folder of another user");
    const other = temporaryFolder();
    const file = join(other, "ca.crt");
    const ofStranger = join(folder, "strange.crt");
    chownSync(other, 1000, 1000);
    symlinkSync("/etc/passwd", file);
    assert.deepEqual(troubles(examinePermissions(other)), []);
    writeFileSync(ofStranger, "");
    chownSync(ofStranger, 2000, 2000);
    for (const [uid, make] of [
      [2000, () => symlinkSync(ofStranger, file)],
      [0, () => writeFileSync(file, "")],
    ] as const) {
      rmSync(file);
      make();
      const found = [`bad permissions: ${file} belongs to uid ${uid}, the folder to 1000`];
      assert.deepEqual(troubles(examinePermissions(other)), found);
    }
  });

  it("finds certificates that expire soon and files that others can read, among those that settings name", async () => {
    const clients = join(folder, "clients.crt");
    copyFileSync(join(dataDirectory, "ca.crt"), clients);
    const soon = await newTroubles({ "client-ca-file": clients }, Date.now() + 3640 * day);
    assert.ok(
      soon.some((line) => line.startsWith("warning certificate") && line.includes(clients)),
      soon.join("\n"),
    );
    chmodSync(clients, 0o666);
    chmodSync(tokenFile, 0o644);
    assert.deepEqual(await newTroubles({ "client-ca-file": clients }), [
      `bad permissions: others can write to ${clients}`,
      `bad permissions: others can read ${tokenFile}`,
    ]);
    chmodSync(tokenFile, 0o640);
    assert.deepEqual(await newTroubles(), []);
    chmodSync(tokenFile, 0o600);
  });

  it("names what cannot be looked at in the place of a file that settings name, and looks at all else", async () => {
    const circle = join(folder, "circle.csv");
    symlinkSync("circle.csv", circle);
    const findings = await examineServer(configOf({ "token-auth-file": circle }), Date.now());
    const reason = "cannot be used: its symbolic links form a loop; name another";
    assert.ok(troubles(findings).includes(`bad permissions: ${circle} ${reason}`));
    assert.ok(findings.some(({ subject }) => subject === "bindings"));
    const missing = join(folder, "missing.crt");
    const found = await newTroubles({ "client-ca-file": missing });
    assert.ok(found.includes(`bad certificate: ${missing} cannot be read: there is no such file; name another`));
  });

  it("says that a folder is no file, and not to change who can write to it", async () => {
    const open = join(folder, "open");
    mkdirSync(open);
    chmodSync(open, 0o1777);
    assert.deepEqual(
      (await newTroubles({ "client-ca-file": open })).filter((line) => line.startsWith("bad permissions")),
      [],
    );
  });

  it("finds an etcd whose clock differs from this machine's", async () => {
    const now = Date.now();
    const etcd = createServer((_request, response) => {
      response.writeHead(200, { date: new Date(now + 600_000).toUTCString() }).end();
    }).listen(0, "127.0.0.1");
    await once(etcd, "listening");
    const { port } = etcd.address() as AddressInfo; // it listens on TCP
    const { storage } = configOf({ "etcd-servers": `http://127.0.0.1:${port},http://127.0.0.1:9` });
    const found = async (at: number) =>
      (await examineEtcdClocks(storage, at)).map(({ state, found: what }) => [state, what]);
    const what = `the clock of etcd's member http://127.0.0.1:${port}`;
    const behind = await found(now);
    assert.equal(behind.length, 1);
    assert.equal(behind[0]?.[0], "bad");
    assert.match(behind[0]?.[1] ?? "", /is (599|600) s ahead of this machine's$/);
    assert.deepEqual(await found(now + 600_000), [["good", `${what} agrees with this machine's`]]);
    etcd.closeAllConnections();
    etcd.close();
  });

  it("finds the alarms of an etcd, which reads are answered in spite of", async () => {
    const alarms = ["memberID:1 alarm:NOSPACE ", "memberID:1 alarm:CORRUPT ", "etcdserver: no leader"];
    const status = new ProtobufWriter();
    for (const alarm of alarms.toReversed()) status.bytesField(8, Buffer.from(alarm));
    await using etcd = await startFakeEtcd({
      onCall: ({ path, answer }) => answer(path.endsWith("/Status") ? status.finish() : Buffer.alloc(0)),
    });
    const found = async (url: string) =>
      (await examineEtcdAlarms(configOf({ "etcd-servers": url }).storage)).map(({ state, found: what, advice }) => [
        state,
        what,
        advice,
      ]);
    const says = `etcd's member ${etcd.url} says:`;
    assert.deepEqual(await found(etcd.url), [
      ["bad", `${says} memberID:1 alarm:NOSPACE`, alarmAdvice.NOSPACE],
      ["bad", `${says} memberID:1 alarm:CORRUPT`, alarmAdvice.CORRUPT],
      ["bad", `${says} etcdserver: no leader`, "look at that member's log"],
    ]);
    await using sound = await startFakeEtcd({});
    assert.deepEqual(await found(sound.url), []);
  });

  it("finds keys of an EncryptionConfiguration that others can read, and objects that are not written with them yet", async () => {
    const file = join(folder, "encryption.yaml");
    const key = Buffer.alloc(32, 7).toString("base64");
    const aes = `aescbc: { keys: [{ name: one, secret: ${key} }] }`;
    writeFileSync(
      file,
      "{ apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [" +
        `{ resources: [serviceaccounts], providers: [{ ${aes} }, { identity: {} }] }] }`,
    );
    const found = async (mode: number): Promise<string[]> => {
      chmodSync(file, mode);
      const lines = await newTroubles({ "encryption-provider-config": file });
      return lines
        .filter((line) => line.startsWith("warning encryption"))
        .map((line) => line.replace(/: \d+ /, ": N "));
    };
    const stale = "warning encryption: N objects not encrypted as the settings say";
    assert.deepEqual(await found(0o644), [`warning encryption: others can read or write ${file}`, stale]);
    assert.deepEqual(await found(0o600), [stale]);
  });

  it("finds bindings that name what does not exist", async () => {
    const bindings = "/apis/rbac.authorization.platform.io/v1/namespaces/default/rolebindings";
    const subject = { kind: "ServiceAccount", name: "gone", namespace: "default" };
    const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "Role", name: "missing" };
    const ofNamespace = { kind: "ServiceAccount", name: "default" };
    const body = { metadata: { name: "orphan" }, roleRef, subjects: [subject, ofNamespace] };
    await api.json(bindings, { method: "POST", body, token: staticToken });
    assert.deepEqual(await newTroubles(), [
      "warning bindings: binding default/orphan: Role missing does not exist",
      "warning bindings: binding default/orphan: service account default/gone does not exist",
    ]);
    await api.json(`${bindings}/orphan`, { method: "DELETE", token: staticToken });
  });

  it("names twenty faults of bindings, and counts the others", async () => {
    const bindings = "/apis/rbac.authorization.platform.io/v1/namespaces/default/rolebindings";
    const subjects = Array.from({ length: 23 }, (_, index) => ({ kind: "ServiceAccount", name: `gone-${index}` }));
    const roleRef = { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "view" };
    const body = { metadata: { name: "orphans" }, roleRef, subjects };
    await api.json(bindings, { method: "POST", body, token: staticToken });
    const found = await newTroubles();
    assert.equal(found.length, 21);
    assert.equal(
      found[19],
      "warning bindings: binding default/orphans: service account default/gone-19 does not exist",
    );
    assert.equal(found[20], "warning bindings: and 3 more");
    await api.json(`${bindings}/orphans`, { method: "DELETE", token: staticToken });
  });

  it("finds unsafe settings, and members of etcd that do not answer", async () => {
    const findings = await newTroubles({
      "authorization-mode": "AlwaysAllow",
      "bind-address": "0.0.0.0",
      "etcd-servers": "http://127.0.0.1:9",
    });
    const has = (text: string): boolean => findings.some((line) => line.includes(text));
    assert.ok(has("AlwaysAllow") && has("has no audit log") && has("without TLS"), findings.join("\n"));
    assert.ok(has("bad storage: etcd's member http://127.0.0.1:9 cannot be used"), findings.join("\n"));
  });

  it("finds an authorizer that allows everything in a configuration file, wherever it stands there", async () => {
    const file = join(folder, "authorizers.yaml");
    const write = (...types: readonly string[]): void =>
      writeFileSync(
        file,
        JSON.stringify({
          apiVersion: "apiserver.config.k8s.io/v1",
          kind: "AuthorizationConfiguration",
          authorizers: types.map((type) => ({ type, name: type.toLowerCase() })),
        }),
      );
    write("Node", "RBAC", "AlwaysAllow");
    const found = `--authorization-config: ${file} has an authorizer AlwaysAllow: every user who logs in may do everything`;
    assert.deepEqual(await newTroubles({ "authorization-config": file }), [`warning settings: ${found}`]);
    write("Node", "RBAC");
    assert.deepEqual(await newTroubles({ "authorization-config": file }), []);
  });

  it("reports a folder without a server's data", async () => {
    assert.match((await newTroubles({ "data-dir": join(folder, "nothing") }))[0] ?? "", /does not exist/);
  });

  it("refuses a file in the place of a data directory", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    await assert.rejects(examine({ "data-dir": file }), /^UsageError: --data-dir: .+ is not a folder; name another$/);
  });

  it("creates no file in the data directory of another user, whose server could not use it", async (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can make a folder of another user");
    const theirs = join(folder, "theirs");
    cpSync(join(dataDirectory, "store"), join(theirs, "store"), { recursive: true });
    for (const name of readdirSync(join(theirs, "store"))) {
      if (name.endsWith("lock")) rmSync(join(theirs, "store", name));
      else chownSync(join(theirs, "store", name), 65_534, 65_534);
    }
    for (const path of [theirs, join(theirs, "store")]) chownSync(path, 65_534, 65_534);
    await assert.rejects(examine({ "data-dir": theirs }), /belongs to another user: run this as that one/);
    const config = configOf({ "data-dir": theirs });
    await assert.rejects(writeSupportBundle(config, Date.now()), /belongs to another user/);
    assert.deepEqual(readdirSync(join(theirs, "store")), ["store.mdb"]);
  });

  it("puts no secret of the server into a support bundle", async () => {
    const data = { word: Buffer.from("open-sesame-please").toString("base64") };
    const secrets = "/api/v1/namespaces/default/secrets";
    await api.json(secrets, { method: "POST", body: { metadata: { name: "hidden" }, data }, token: staticToken });
    const version = "authentication.platform.io/v1";
    const { status } = await api.json<{ status: { token: string } }>(
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      { method: "POST", body: { apiVersion: version, kind: "TokenRequest", spec: {} }, token: staticToken },
    );
    const bundle = gunzipSync(await writeSupportBundle(configOf(), Date.now())).toString();
    const keyLines = readdirSync(dataDirectory)
      .map((name) => join(dataDirectory, name))
      .filter((file) => statSync(file).isFile() && /PRIVATE KEY|client-key-data/.test(readFileSync(file, "utf8")))
      .flatMap((file) => readFileSync(file, "utf8").split("\n"))
      .map((line) => line.split(": ").at(-1) ?? "")
      .filter((line) => line.length >= 30 && !line.startsWith("-----"));
    assert.ok(keyLines.length > 10);
    const held = [...keyLines, staticToken, status.token, "open-sesame-please", data.word, "hidden"];
    for (const secret of held) assert.ok(!bundle.includes(secret), `it holds ${secret.slice(0, 8)}…`);
    const { objects, settings: shown } = JSON.parse(bundle) as { objects: Record<string, number>; settings: object };
    assert.equal(objects["secrets"], 1);
    assert.equal(objects["tokens"], undefined, "keys of tokens are no objects");
    assert.ok(JSON.stringify(shown).includes(tokenFile));
  });
});
