import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ownChainKey, writePublicKey } from "../../../src/machinery/audit/chain/chain-key.ts";
import { examinePermissions } from "../../../src/server/doctor/examine-permissions.ts";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { folder, dataDirectory, configOf, troubles, newTroubles } from "./examined-server.ts";

describe("signet doctor beside a running server", () => {
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
});
