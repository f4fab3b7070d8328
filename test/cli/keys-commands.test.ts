import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { createCertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { keyRingRecord } from "../../src/features/accounts/keys/key-ring.ts";
import { readKeyRecord } from "../../src/machinery/keys/key-records.ts";
import { InProcess } from "../server/in-process.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import type { HostedOutcome } from "./command-host.ts";
import { HostedSignet } from "./hosted-signet.ts";

interface ListedKey {
  readonly key: string;
  readonly algorithm: string;
  readonly state: string;
}

describe("signet keys, beside a server that runs", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-keys-"));
  const dataDirectory = join(folder, "data");
  let server: TestServer;
  let signet: HostedSignet;
  before(async () => {
    signet = new HostedSignet();
    server = await startTestServer({ dataDirectory, storage: "lmdb", settings: { controllers: false } });
  });
  after(async () => {
    signet.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (...words: string[]): Promise<HostedOutcome> =>
    signet.run(["keys", ...words, "--data-dir", dataDirectory]);
  const listed = async (): Promise<readonly ListedKey[]> => {
    const { stdout } = await run("list", "-o", "json");
    return (JSON.parse(stdout) as { keys: ListedKey[] }).keys;
  };
  const stored = async () => (await readKeyRecord(server.store, keyRingRecord)).value?.keys ?? [];
  const published = async (): Promise<readonly string[]> => {
    const { keys } = await new InProcess(server).json<{ keys: { kid: string }[] }>("/openid/v1/jwks");
    return keys.map(({ kid }) => kid);
  };
  /** A server without requests looks each second. */
  const whenPublished = async (count: number): Promise<readonly string[]> => {
    for (;;) {
      const kids = await published();
      if (kids.length === count) return kids;
      await delay(20);
    }
  };

  it("show CAs in the operator's files as the operator's, and say what to do instead of a rotation", async () => {
    const inFiles = createCertificateAuthority({
      subject: { commonName: "the operator's" },
      privateKey: generatePrivateKey("ECDSA P-256"),
      notBefore: Date.now() - 3_600_000,
      notAfter: Date.now() + 86_400_000,
    });
    const [certificateFile, keyFile, signers] = ["ca.crt", "ca.key", "signers.yaml"].map((name) => join(folder, name));
    assert.ok(certificateFile && keyFile && signers);
    writeFileSync(certificateFile, encodePem("CERTIFICATE", inFiles.certificate.der));
    writeFileSync(keyFile, encodePrivateKeyPem(inFiles.privateKey), { mode: 0o600 });
    const dnsNames = ["*.example.com"];
    const own = { name: "example.com/own", certificateAuthority: { certificateFile, keyFile }, dnsNames };
    const configuration = { apiVersion: "signet.platform.io/v1", kind: "SignerConfiguration", signers: [own] };
    writeFileSync(signers, JSON.stringify(configuration));
    const files = ["--cluster-signing-nodeagent-serving-cert-file", certificateFile];
    files.push("--cluster-signing-nodeagent-serving-key-file", keyFile, "--signer-config", signers);
    const ca = (...words: string[]): Promise<HostedOutcome> =>
      signet.run(["ca", ...words, "--data-dir", dataDirectory]);
    const { stdout } = await ca("list", ...files, "-o", "json");
    const { authorities } = JSON.parse(stdout) as { authorities: { name: string; state: string; subject: string }[] };
    assert.deepEqual(
      authorities.map(({ name, state, subject }) => [name, state, subject]),
      [
        ["ca", "Signing", "CN=signet-ca"],
        ["apiserver-client-ca", "Signing", "CN=signet-apiserver-client-ca"],
        ["nodeagent-client-ca", "Signing", "CN=signet-nodeagent-client-ca"],
        ["nodeagent-serving-ca", "Unused", "CN=signet-nodeagent-serving-ca"],
        ["nodeagent-serving-ca", "Operator's", "CN=the operator's"],
        ["example.com/own", "Operator's", "CN=the operator's"],
      ],
    );
    assert.match(
      (await ca("list", ...files)).stdout,
      /\nOperator's: replace the certificate and the key in these files; /,
    );
    assert.doesNotMatch((await ca("list")).stdout, /Operator/);
    for (const [step, name] of [
      ["prepare", "nodeagent-serving-ca"],
      ["switch", "example.com/own"],
    ] as const) {
      const { code, stderr } = await ca(step, name, ...files);
      assert.notEqual(code, 0);
      assert.match(stderr, /is in the operator's files \(.+ca\.crt, of --[\w-]+\).*append .* then replace/s);
    }
    const { code, stderr } = await ca("prepare", "apiserver-client-ca", ...files, "--signer-config", folder);
    assert.notEqual(code, 0);
    assert.match(stderr, /--signer-config: .* is a folder; name a file/);
  });

  it("rotate a key: the server publishes it without a restart", async () => {
    const [first] = await listed();
    assert.deepEqual([first?.algorithm, first?.state], ["ES256", "Signing"]);
    const { code, stdout } = await run("rotate", "--algorithm", "EdDSA", "--publish-for", "20m");
    assert.equal(code, 0);
    assert.match(stdout, /^key [\w-]{43} \(EdDSA\) is published now, and signs from /);
    const [, second] = await listed();
    assert.deepEqual([second?.algorithm, second?.state], ["EdDSA", "Published"]);
    assert.deepEqual(new Set(await whenPublished(2)), new Set([first?.key, second?.key]));
    const again = await run("rotate");
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^signet: a rotation is under way: .*; wait for that, or undo it with: /);
    const signing = await run("retire", first?.key ?? "", "--force");
    assert.equal(signing.code, 1);
    assert.match(signing.stderr, /this key signs: rotate first/);
    assert.equal((await run("retire", `tokenkey/${second?.key}`)).code, 0, "as -o name shows it");
    await whenPublished(1);
  });

  it("make no key that the server can't open: not without its sealing key, nor with that of another", async () => {
    const file = join(dataDirectory, "sealing.key");
    const kept = readFileSync(file, "utf8");
    const ca = (...words: string[]): Promise<HostedOutcome> =>
      signet.run(["ca", ...words, "--data-dir", dataDirectory]);
    assert.equal((await ca("prepare", "nodeagent-client-ca")).code, 0);
    const refused = async (reason: RegExp): Promise<void> => {
      const before = await server.store.range({ start: "/keys/", end: "/keys0" });
      for (const outcome of [await run("rotate"), await ca("prepare", "nodeagent-serving-ca")]) {
        assert.equal(outcome.code, 2);
        assert.match(outcome.stderr, reason);
      }
      const after = await server.store.range({ start: "/keys/", end: "/keys0" });
      assert.deepEqual(after.entries, before.entries);
    };
    rmSync(file);
    await refused(/sealing\.key is not there: .* copy it from a backup or another replica/);
    assert.equal((await listed()).length, 1);
    assert.ok(!existsSync(file));
    writeFileSync(file, kept, { mode: 0o600 });
    const key = "/replicas/identity";
    const value = Buffer.from(JSON.stringify({ sealingKeyId: "0123456789abcdef" }));
    const written = await server.store.write({ key, value, expectedRevision: 0 });
    assert.ok(written.isWritten);
    await refused(/cannot open the keys that the other replicas on this etcd have in the store/);
    await server.store.write({ key, value: undefined, expectedRevision: written.revision });
    assert.equal((await run("rotate")).code, 0);
    const [, added] = await stored();
    writeFileSync(file, `${Buffer.alloc(32, 1).toString("base64")}\n`);
    assert.match(
      (await ca("prepare", "nodeagent-serving-ca")).stderr,
      /sealing\.key .* is not what the CA .* is sealed with/,
    );
    assert.equal((await run("retire", added?.kid ?? "")).code, 0);
    writeFileSync(file, kept);
    assert.equal((await ca("abort", "nodeagent-client-ca")).code, 0);
  });

  it("name the certificate of a CA that was lost", async () => {
    const file = join(dataDirectory, "nodeagent-serving-ca.crt");
    const kept = readFileSync(file);
    rmSync(file);
    for (const words of [["list"], ["prepare", "nodeagent-serving-ca"]]) {
      const { code, stderr } = await signet.run(["ca", ...words, "--data-dir", dataDirectory]);
      assert.equal(code, 2);
      assert.match(stderr, /nodeagent-serving-ca\.crt is missing: start the server/);
    }
    writeFileSync(file, kept);
  });

  it("give nothing up while a server runs", async () => {
    const { code, stderr } = await run("reseal", "--yes");
    assert.equal(code, 2);
    assert.match(stderr, /is in use by the process/);
  });

  it("give a server that is stopped another sealing key", async () => {
    const stopped = join(folder, "stopped");
    await (await startTestServer({ dataDirectory: stopped, storage: "lmdb", settings: { controllers: false } })).stop();
    assert.equal((await signet.run(["ca", "prepare", "ca", "--data-dir", stopped])).code, 0);
    const reseal = ["keys", "reseal", "--data-dir", stopped];
    assert.match((await signet.run(reseal)).stderr, /no private key in the store is lost/);
    rmSync(join(stopped, "sealing.key"));
    const unasked = await signet.run(reseal);
    assert.equal(unasked.code, 2);
    assert.match(unasked.stderr, /nothing was changed: give --yes/);
    assert.ok(!existsSync(join(stopped, "sealing.key")));
    const { code, stdout } = await signet.run([...reseal, "--yes"]);
    assert.equal(code, 0);
    assert.match(stdout, /made a new key\nca: sealed the key of CN=signet-ca, which signs, from its file\nca: gave up/);
    assert.equal((await signet.run(["ca", "prepare", "ca", "--data-dir", stopped])).code, 0);
  });

  it("leave a consistent state, whenever they are killed", async () => {
    for (let kill = 0; kill < 4; kill += 1) {
      const before = await stored();
      const child = spawn(process.execPath, [signetProgram, "keys", "rotate", "--data-dir", dataDirectory], {
        stdio: "ignore",
      });
      // From before it has opened the store to after it has written.
      await Promise.race([once(child, "exit"), delay(200 + 100 * kill)]);
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      const now = await stored();
      assert.ok(now.length === before.length || now.length === before.length + 1);
      assert.deepEqual(now.slice(0, before.length), before);
      await whenPublished(now.length);
      for (const { kid } of now.slice(1)) assert.equal((await run("retire", kid)).code, 0);
    }
  });

  it("explain invalid uses, and change nothing in folders of other users or without a server", async () => {
    for (const [words, message] of [
      [["rotate", "--publish-for", "9s"], /at least 10s/],
      [["rotate", "--publish-for", "91d"], /at most 90d/],
      [["rotate", "--algorithm", "HS256"], /Allowed choices are ES256, ES384, RS256, EdDSA/],
      [["retire", "../key"], /it is not the id of a key/],
    ] as const) {
      const { code, stderr } = await run(...words);
      assert.equal(code, 2);
      assert.match(stderr, message);
    }
    const missing = await signet.run(["keys", "list", "--data-dir", join(folder, "missing")]);
    assert.deepEqual([missing.code, /does not exist/.test(missing.stderr)], [2, true]);
    const empty = mkdtempSync(join(folder, "empty-"));
    writeFileSync(join(empty, "sealing.key"), "not mine");
    chmodSync(join(empty, "sealing.key"), 0o644);
    const none = await signet.run(["keys", "rotate", "--data-dir", empty]);
    assert.deepEqual([none.code, /holds no store of a server/.test(none.stderr)], [2, true]);
    assert.equal(statSync(join(empty, "sealing.key")).mode & 0o777, 0o644);
  });
});
