import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pino } from "pino";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../../src/machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { loadCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { CertificateFolder, CertificateScene, until } from "../../features/certificates/certificate-loop-scene.ts";
import { dataDirectoryAuthority, issuePair } from "../../features/certificates/data-directory-authority.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { signerNames } from "../../../src/features/certificates/signer-names.ts";
import { userOf } from "../../user-of.ts";

const apiserverClient = signerNames.apiserverClient(names);
const apiserverClientNodeAgent = signerNames.apiserverClientNodeAgent(names);
const nodeAgentServing = signerNames.nodeAgentServing(names);
const node = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const files = ["ca", "apiserver-client-ca", "nodeagent-client-ca", "nodeagent-serving-ca"] as const;

const serving = (name: string, dnsNames: readonly string[]) => ({
  ...{ name, signerName: nodeAgentServing, ...node, names: { dnsNames } },
  usages: ["digital signature", "server auth"],
});

/** The user that the server sees for the holder of a client certificate. */
async function whoIs(
  server: TestServer,
  clientCertificate: { readonly certificate: string; readonly key: string },
): Promise<string> {
  const { caCertificates } = server;
  const client = new ApiClient(httpsTransport({ server: server.url, caCertificates, clientCertificate }));
  try {
    return (await userOf(client)).username;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "no connection";
  } finally {
    client.close();
  }
}

describe("the CAs of a data directory", () => {
  let folder: CertificateFolder;
  let dataDirectory = "";
  beforeEach(() => {
    folder = new CertificateFolder();
    dataDirectory = folder.file("data");
  });
  afterEach(() => folder.remove());

  const start = (settings: Readonly<Record<string, unknown>> = {}): Promise<TestServer> =>
    startTestServer({ settings, dataDirectory });
  const authorityOf = (name: string): CertificateAuthority =>
    loadCertificateAuthority({
      certificate: readFileSync(join(dataDirectory, `${name}.crt`)),
      privateKey: readFileSync(join(dataDirectory, `${name}.key`)),
    });

  it("are reported at the start when they were made while the clock was wrong, with what to do", async () => {
    const year = 365 * 86_400_000;
    const lines: string[] = [];
    const log = pino({ level: "error" }, { write: (line: string) => lines.push(line) });
    const startAt = async (time: number): Promise<void> => {
      const server = await startTestServer({ dataDirectory, log, clock: { now: () => time } });
      await server.stop();
    };
    await startAt(Date.now() + year);
    assert.deepEqual(lines, []);
    await startAt(Date.now());
    const reports = lines.map((line) => JSON.parse(line) as Record<string, string>);
    assert.deepEqual(new Set(reports.map(({ authority }) => authority)), new Set(files));
    for (const { authority, reason = "", msg = "" } of reports) {
      assert.match(reason, /begins only at \d{4}-.*: wait, or set the clock of this machine$/);
      const commands = `signet ca prepare ${authority}, then signet ca switch ${authority} --force`;
      assert.ok(msg.endsWith(`clock is right, replace the CA: ${commands}`), msg);
    }
  });

  it("are one for the server and one for each signer, and each is trusted only for its own purpose", async () => {
    const server = await start();
    const authorities = files.map(authorityOf);
    assert.equal(new Set(authorities.map(({ certificate }) => certificate.publicKey.spki.toString("hex"))).size, 4);
    const scene = new CertificateScene(server.client);
    const issuers = [
      [await scene.obtain({ name: "a", signerName: apiserverClient, commonName: "alice" }), "apiserver-client"],
      [await scene.obtain({ name: "b", signerName: apiserverClientNodeAgent, ...node }), "nodeagent-client"],
      [await scene.obtain(serving("c", ["n1"])), "nodeagent-serving"],
    ] as const;
    for (const [[certificate], word] of issuers) {
      assert.equal(certificate?.issuer.commonName, `signet-${word}-ca`);
      const bundle = await until(
        server.client,
        scene.references.clusterTrustBundles,
        ({ spec }) =>
          spec.signerName === `${names.domain}/${word.replace("nodeagent-client", "apiserver-client-nodeagent")}`,
      );
      const anchors = parseCertificatesPem(bundle.spec.trustBundle).map(({ subject }) => subject.commonName);
      assert.deepEqual(anchors, [`signet-${word}-ca`]);
    }
    const asAlice = files.map((name) => issuePair(authorityOf(name), { commonName: "alice" }));
    const taken = await Promise.all(asAlice.map((pair) => whoIs(server, pair)));
    assert.deepEqual(taken, ["401", "alice", "alice", "401"]);
    const { clientCertificate } = readKubeconfig({ file: server.kubeconfigFile }).transport;
    assert.ok(clientCertificate);
    assert.equal(await whoIs(server, clientCertificate), "admin");
  });

  it("prevent the start with one line when the file of replaced CAs is damaged", async () => {
    mkdirSync(dataDirectory, { mode: 0o700 });
    writeFileSync(join(dataDirectory, "client-authorities.json"), '[{"certificate": "-----BEGIN');
    await assert.rejects(
      start(),
      /^UsageError: .*client-authorities\.json cannot be read: .*; correct it, or move it away/,
    );
  });

  it("sign a server's names for its node when a person approved, with a CA that the server's clients do not trust", async () => {
    const server = await start();
    const scene = new CertificateScene(server.client);
    const issued = await scene.obtain(serving("beside", ["localhost"]));
    assert.throws(() => folder.opensslVerify(parseCertificatesPem(server.caCertificates), issued, "sslserver"));
  });

  it("keep their keys when a certificate is lost, so that those who trust the lost one still do", async () => {
    const before = await start();
    const { clientCertificate } = readKubeconfig({ file: before.kubeconfigFile }).transport;
    const { caCertificates } = before;
    await before.stop();
    const keys = (): string[] => files.map((name) => readFileSync(join(dataDirectory, `${name}.key`), "utf8"));
    const kept = keys();
    // Without those of all signers, the directory is not taken for one of an earlier version.
    for (const name of files.slice(1)) rmSync(join(dataDirectory, `${name}.crt`));
    await (await start()).stop();
    for (const name of files) assert.ok(existsSync(join(dataDirectory, `${name}.crt`)), name);
    rmSync(join(dataDirectory, "ca.crt"));
    const server = await start();
    assert.deepEqual(keys(), kept);
    assert.ok(clientCertificate);
    assert.equal(await whoIs({ ...server, caCertificates }, clientCertificate), "admin");
  });

  it("remain a single CA for everything in a directory of an earlier version", async () => {
    mkdirSync(dataDirectory, { mode: 0o700 });
    dataDirectoryAuthority(dataDirectory);
    const before = readFileSync(join(dataDirectory, "ca.crt"), "utf8");
    for (const round of ["first", "second"]) {
      const server = await start();
      const scene = new CertificateScene(server.client);
      for (const wish of [
        { name: "a", signerName: apiserverClient, commonName: "alice" },
        { name: "b", signerName: apiserverClientNodeAgent, ...node },
        serving("c", ["n1"]),
      ]) {
        const [certificate] = await scene.obtain(wish);
        assert.equal(certificate?.issuer.commonName, "signet-ca", round);
      }
      const { clientCertificate } = readKubeconfig({ file: server.kubeconfigFile }).transport;
      assert.ok(clientCertificate);
      assert.equal(await whoIs(server, clientCertificate), "admin");
      await server.stop();
    }
    assert.equal(readFileSync(join(dataDirectory, "ca.crt"), "utf8"), before);
    assert.deepEqual(
      readdirSync(dataDirectory).filter((file) => file.endsWith("-ca.crt")),
      [],
    );
  });

  it("never sign the server's names with a CA that the server's clients trust, whoever approved", async () => {
    mkdirSync(dataDirectory, { mode: 0o700 });
    dataDirectoryAuthority(dataDirectory);
    const copies = { certificate: folder.file("copy.crt"), key: folder.file("copy.key") };
    copyFileSync(join(dataDirectory, "ca.crt"), copies.certificate);
    copyFileSync(join(dataDirectory, "ca.key"), copies.key);
    const refuse = async (settings: Readonly<Record<string, unknown>>): Promise<void> => {
      const server = await start({ ...settings, "tls-san": ["api.signet.example", "192.0.2.7"] });
      const scene = new CertificateScene(server.client);
      for (const [index, name] of ["localhost", "api.signet.example", "*.signet.example", "127.0.0.1"].entries()) {
        await scene.request(serving(`server-${index}`, [name]));
        const { message } = await scene.failure(`server-${index}`);
        assert.match(message, /is a name of the API server, .*a separate CA/);
      }
      assert.equal((await scene.obtain(serving("other", ["n1.signet.test"]))).length, 1);
      await server.stop();
    };
    await refuse({});
    rmSync(dataDirectory, { recursive: true });
    // A new directory, but the settings name the server's CA for the signers.
    mkdirSync(dataDirectory, { mode: 0o700 });
    dataDirectoryAuthority(dataDirectory, { baseName: "apiserver-client-ca" });
    dataDirectoryAuthority(dataDirectory, { baseName: "nodeagent-client-ca" });
    dataDirectoryAuthority(dataDirectory, { baseName: "nodeagent-serving-ca" });
    copyFileSync(copies.certificate, join(dataDirectory, "ca.crt"));
    copyFileSync(copies.key, join(dataDirectory, "ca.key"));
    await refuse({ "cluster-signing-cert-file": copies.certificate, "cluster-signing-key-file": copies.key });
  });

  it("are completed after an interrupted first start", async () => {
    mkdirSync(dataDirectory, { mode: 0o700 });
    dataDirectoryAuthority(dataDirectory, { baseName: "apiserver-client-ca" });
    const made = readFileSync(join(dataDirectory, "apiserver-client-ca.crt"), "utf8");
    await (await start()).stop();
    assert.equal(readFileSync(join(dataDirectory, "apiserver-client-ca.crt"), "utf8"), made);
    for (const name of files) assert.ok(existsSync(join(dataDirectory, `${name}.crt`)), name);
  });

  it("prevent the start with one line when a folder or a pipe is in the place of a file", async () => {
    await (await start()).stop();
    for (const name of ["ca.crt", "ca.key", "client-authorities.json"]) {
      const file = join(dataDirectory, name);
      renameSync(file, `${file}.away`);
      for (const make of [mkdirSync, (path: string) => execFileSync("mkfifo", [path])]) {
        make(file);
        await assert.rejects(start(), {
          name: "UnusableFile",
          message: `${file} is a folder, a pipe or a device: put back the file, or remove what is there`,
        });
        rmSync(file, { recursive: true });
      }
      renameSync(`${file}.away`, file);
    }
  });

  it("prevent the start with one line when one of them is missing", async () => {
    await (await start()).stop();
    for (const file of ["nodeagent-serving-ca.crt", "nodeagent-serving-ca.key", "apiserver-client-ca.key"])
      rmSync(join(dataDirectory, file));
    await assert.rejects(start(), {
      name: "UsageError",
      message: /contains ca\.crt but not nodeagent-serving-ca\.crt: copy the missing files/,
    });
    dataDirectoryAuthority(dataDirectory, { baseName: "nodeagent-serving-ca" });
    await assert.rejects(start(), { name: "UsageError", message: /apiserver-client-ca\.key is missing: copy it/ });
  });
});
