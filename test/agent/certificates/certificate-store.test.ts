import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, it } from "node:test";
import { CertificateStore, readUsable } from "../../../src/agent/certificates/certificate-store.ts";
import { removeUnfinishedFiles } from "../../../src/machinery/files/unfinished-files.ts";
import { keyPair, parseKeyPair } from "../../../src/agent/certificates/key-pair.ts";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";
import { newPair } from "../new-pair.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const wantedDigest = "a digest";

const newFolder = (): string => join(temporaryFolder(), "pki");

describe("the files of a certificate", () => {
  it("are private, have a date in their names, and are reached by a permanent link", () => {
    const folder = newFolder();
    const store = new CertificateStore(folder, "client");
    const pair = newPair();
    store.keepPendingKey(pair.keyPem);
    assert.equal(statSync(join(folder, "client-pending.key")).mode & 0o777, 0o600);
    store.install(pair, { now: Date.UTC(2026, 0, 2, 3, 4, 5, 6), wantedDigest });
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(folder).sort(), [
      "client-2026-01-02-03-04-05-006.pem",
      "client-current.pem",
      "client-wanted",
    ]);
    assert.ok(lstatSync(store.file).isSymbolicLink());
    assert.equal(statSync(store.file).mode & 0o777, 0o600);
    assert.deepEqual(store.read()?.keyPem, pair.keyPem);
  });

  it("keep the pair before the current one, and no older", () => {
    const folder = newFolder();
    const store = new CertificateStore(folder, "client");
    for (const second of [1, 2, 3, 4]) store.install(newPair(), { now: second * 1000, wantedDigest });
    assert.deepEqual(readdirSync(folder).sort(), [
      "client-1970-01-01-00-00-03-000.pem",
      "client-1970-01-01-00-00-04-000.pem",
      "client-current.pem",
      "client-wanted",
    ]);
  });

  it("keep the pair in use also behind a link with a whole path, as of a kubelet", () => {
    const folder = newFolder();
    const store = new CertificateStore(folder, "client");
    store.install(newPair(), { now: 1000, wantedDigest });
    rmSync(store.file);
    symlinkSync(join(folder, "client-1970-01-01-00-00-01-000.pem"), store.file);
    store.install(newPair(), { now: 2000, wantedDigest });
    assert.ok(readdirSync(folder).includes("client-1970-01-01-00-00-01-000.pem"));
  });

  it("do not pile up while they cannot be put into use", () => {
    const folder = newFolder();
    const store = new CertificateStore(folder, "client");
    const install = (second: number): void => store.install(newPair(), { now: second * 1000, wantedDigest });
    const datedFiles = (): string[] => readdirSync(folder).filter((file) => file.startsWith("client-1970"));
    for (const inTheWay of ["client-wanted", "client-current.pem"]) {
      install(1);
      rmSync(join(folder, inTheWay));
      mkdirSync(join(folder, inTheWay));
      for (const second of [2, 3, 4, 5]) {
        assert.throws(() => install(second), new RegExp(`^UnusableFile: .*${inTheWay}`));
      }
      assert.ok(datedFiles().length <= 2, datedFiles().join());
      rmdirSync(join(folder, inTheWay));
    }
  });

  it("are a pair alone after a renewal for which nothing else was wanted: the rest may need room that the disk lacks", () => {
    const folder = newFolder();
    const store = new CertificateStore(folder, "client");
    const wantedFile = (): number => statSync(join(folder, "client-wanted")).ino;
    store.install(newPair(), { now: 1000, wantedDigest });
    const first = wantedFile();
    store.install(newPair(), { now: 2000, wantedDigest });
    assert.equal(wantedFile(), first);
    store.install(newPair(), { now: 3000, wantedDigest: "another" });
    assert.notEqual(wantedFile(), first);
    assert.equal(store.wantedDigest, "another");
  });

  it("have the same failure at each try, which names the file that people know", () => {
    const folder = newFolder();
    // With a date, the name is longer than any file's.
    const store = new CertificateStore(folder, "a".repeat(240));
    for (const second of [1, 2]) {
      assert.throws(() => store.install(newPair(), { now: second * 1000, wantedDigest }), {
        name: "UnusableFile",
        message: `cannot write ${store.file}: the name is too long; name a shorter one`,
      });
    }
  });

  it("leave other certificates' files alone, also those whose name begins with this one's or is as long", () => {
    const folder = newFolder();
    const others = ["client-1234", "server"].map((name) => new CertificateStore(folder, name));
    for (const other of others) other.install(newPair(), { now: 0, wantedDigest });
    const client = new CertificateStore(folder, "client");
    for (const second of [1, 2, 3]) client.install(newPair(), { now: second * 1000, wantedDigest });
    for (const other of others) assert.ok(other.read());
  });

  it("count as missing when certificate and key do not match", () => {
    const folder = newFolder();
    const store = new CertificateStore(folder, "client");
    assert.equal(store.read(), undefined);
    const [one, other] = [newPair(), newPair()];
    const cutOff = one.keyPem + one.certificatePem.slice(0, 100);
    for (const text of ["", "x", one.keyPem, one.certificatePem, one.keyPem + other.certificatePem, cutOff]) {
      writeFileSync(store.file, text, { mode: 0o600 });
      assert.throws(() => store.read(), PkiError);
      let fault = "";
      assert.equal(
        readUsable(store, (message) => (fault = message)),
        undefined,
      );
      assert.notEqual(fault, "");
    }
    store.install(one, { now: 0, wantedDigest });
    assert.equal(store.read()?.keyPem, one.keyPem);
    assert.throws(() => keyPair({ keyPem: one.keyPem, certificatePem: other.certificatePem }), /does not belong/);
  });

  it("count as missing when other users can read them, so that the node requests a new one", () => {
    const store = new CertificateStore(newFolder(), "client");
    const { keyPem } = newPair();
    store.install(newPair(), { now: 0, wantedDigest });
    store.keepPendingKey(keyPem);
    assert.equal(store.pendingKey(), keyPem);
    for (const file of readdirSync(dirname(store.file))) chmodSync(join(dirname(store.file), file), 0o644);
    assert.equal(store.pendingKey(), undefined);
    assert.equal(
      readUsable(store, (fault) => assert.match(fault, /chmod 600/)),
      undefined,
    );
  });

  it("are no reason to give up the pair in use when those beside it cannot be read", () => {
    const folder = newFolder();
    const before = new CertificateStore(folder, "client");
    before.install(newPair(), { now: 0, wantedDigest });
    const links = ["client-wanted", "client-pending.key"].map((name) => join(folder, name));
    for (const link of links) {
      rmSync(link, { force: true });
      symlinkSync(link, link); // root can read everything but this
    }
    const store = new CertificateStore(folder, "client");
    assert.deepEqual([store.wantedDigest, store.pendingKey()], [undefined, undefined]);
    assert.ok(store.read());
  });

  it("hold nothing but the key and its certificates, whatever the server sent beside them", () => {
    const { keyPem, certificatePem } = newPair();
    const other = newPair();
    const sent = `\u001B[2J${other.keyPem}${certificatePem}# text\n${other.certificatePem}${other.keyPem}`;
    const pair = keyPair({ keyPem, certificatePem: sent });
    assert.equal(pair.certificatePem, certificatePem + other.certificatePem);
  });

  it("are not used when the chain is longer than TLS takes, of which no certificate is parsed", () => {
    const { keyPem, certificatePem } = newPair();
    assert.ok(keyPair({ keyPem, certificatePem: certificatePem.repeat(200) }));
    const unparseable = encodePem("CERTIFICATE", Buffer.alloc(101 * 1024));
    for (const long of [certificatePem.repeat(400), unparseable]) {
      assert.throws(() => keyPair({ keyPem, certificatePem: long }), {
        name: "PkiError",
        message: "its chain has more than 100 KiB, which no TLS program takes",
      });
    }
  });

  it("are not used when a key in the chain is too weak for TLS", () => {
    const { keyPem, certificatePem } = newPair();
    const { certificate } = createCertificateAuthority({
      subject: { commonName: "weak" },
      privateKey: generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey,
      notBefore: 0,
      notAfter: Date.UTC(2039, 0),
    });
    assert.throws(
      () => keyPair({ keyPem, certificatePem: certificatePem + encodePem("CERTIFICATE", certificate.der) }),
      {
        name: "PkiError",
        message: /^TLS refuses it: .*ca key too small/,
      },
    );
  });

  it("match at whatever point their writer is killed", async () => {
    const folder = newFolder();
    new CertificateStore(folder, "client").install(newPair(), { now: 0, wantedDigest });
    for (let round = 0; round < 5; round++) {
      const writer = spawn(process.execPath, [resolve(import.meta.dirname, "pair-writer.ts"), folder], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(writer.stdout, "data");
      // Somewhere in its thousands of writes: the later rounds give it longer.
      for (let turns = 0; turns < round * 40; turns++) await new Promise(setImmediate);
      writer.kill("SIGKILL");
      await once(writer, "exit");
      parseKeyPair(readFileSync(join(folder, "client-current.pem"), "utf8"));
      const store = new CertificateStore(folder, "client");
      removeUnfinishedFiles(folder);
      assert.ok(store.read());
      assert.ok(!readdirSync(folder).some((file) => file.endsWith(".new")));
    }
  });
});
