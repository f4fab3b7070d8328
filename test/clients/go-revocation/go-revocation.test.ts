import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { configMapResource } from "../../../src/features/core/index.ts";
import { loadSigningAuthority } from "../../../src/features/certificates/authorities/signing-authority.ts";
import { issueCertificate } from "../../../src/features/certificates/signers/issue.ts";
import { authorityId } from "../../../src/features/certificates/status/addresses.ts";
import { storedListName } from "../../../src/features/certificates/status/stored-list.ts";
import { revocationResource } from "../../../src/features/revocation/resources.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { parseCertificateRequestPem } from "../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { serialNumberHex } from "../../../src/pki/certificates/certificate.ts";
import { parseRevocationList } from "../../../src/pki/revocation/certificate-revocation-list.ts";
import { formatDistinguishedName } from "../../../src/pki/names/distinguished-name.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import {
  CertificateFolder,
  CertificateScene,
  intermediateOf,
  newAuthority,
  until,
} from "../../features/certificates/certificate-loop-scene.ts";
import { startTestServer } from "../../test-server.ts";

/** Builds from what is on this machine; tests ask no network. */
const environment = { ...process.env, GOPROXY: "off", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" };
const run = promisify(execFile);

describe("Go", { skip: reasonToSkip() }, () => {
  const folder = new CertificateFolder();
  const program = folder.file("program");
  before(() => run("go", ["build", "-o", program, "."], { cwd: import.meta.dirname, env: environment }));
  after(() => folder.remove());

  it("verifies what an intermediate of an offline root issues, with the root alone", async () => {
    const root = newAuthority("offline root");
    const online = intermediateOf(root, "online", { maxPathLength: 0 });
    const authority = loadSigningAuthority({
      certificate: [online, root].map(({ certificate }) => encodePem("CERTIFICATE", certificate.der)).join(""),
      privateKey: encodePrivateKeyPem(online.privateKey),
    });
    const pem = createCertificateRequestPem({
      privateKey: generatePrivateKey("ECDSA P-256"),
      subject: { commonName: "web.example.com" },
      subjectAltNames: { ...noSubjectAltNames, dnsNames: ["web.example.com"] },
    });
    const issued = issueCertificate({
      ...{ request: parseCertificateRequestPem(pem), usages: ["digital signature", "server auth"], authority },
      ...{ expirationSeconds: 3600, maximumLifetimeSeconds: 3600, now: Date.now() },
    });
    writeFileSync(folder.file("shown.pem"), issued.pem + authority.chainPem);
    const args = [
      "chain",
      folder.write("roots.pem", ...authority.anchors),
      folder.file("shown.pem"),
      "web.example.com",
    ];
    assert.equal((await run(program, args)).stdout, "CN=web.example.com\nCN=online\nCN=offline root\n");
  });

  it("reads the lists with crypto/x509, and the answers with golang.org/x/crypto/ocsp", async () => {
    const server = await startTestServer({
      settings: { "revocation-url": "http://pki.example.com", "revocation-http-address": "127.0.0.1:0" },
    });
    const scene = new CertificateScene(server.client);
    const signerName = `${names.domain}/apiserver-client`;
    const [leaf] = await scene.obtain({ name: "laptop", signerName, commonName: "laptop" });
    const bundle = await until(
      server.client,
      scene.references.clusterTrustBundles,
      ({ spec }) => spec.signerName === signerName,
    );
    const [ca] = parseCertificatesPem(bundle.spec.trustBundle);
    assert.ok(leaf && ca);
    const url = server.revocationHttpUrl ?? "";
    const list = async (): Promise<Buffer> => {
      const answer = await fetch(`${url}/pki/crl/${authorityId(ca)}.crl`);
      return Buffer.from(await answer.arrayBuffer());
    };
    const untilListed = async (isWanted: (entries: string) => boolean): Promise<void> => {
      const configMaps = server.client.resource(configMapResource(names));
      for await (const { object } of configMaps.watch({}, AbortSignal.timeout(120_000))) {
        if (object.metadata.name !== storedListName(authorityId(ca), undefined)) continue;
        // The server reads it soon after the event.
        for (let turn = 0; turn < 20; turn++) {
          const der = await list();
          if (der[0] === 0x30 && isWanted(parseRevocationList(der).entries.toString("hex"))) return;
        }
      }
    };
    const said = async (): Promise<string> => {
      writeFileSync(folder.file("list.der"), await list());
      const args = [folder.write("ca.pem", ca), folder.write("leaf.pem", leaf), folder.file("list.der")];
      return (await run(program, [...args, `${url}/pki/ocsp`])).stdout;
    };
    const serialNumber = serialNumberHex(leaf);
    await untilListed(() => true);
    assert.match(
      await said(),
      /^not on the list; OCSP good, .*names \[http:\S+\.crl\] \[http:\S+ocsp\] \[http:\S+\.crt\]/,
    );
    const certificate = { issuer: formatDistinguishedName(leaf.issuer), serialNumber };
    await server.client.resource(revocationResource(names)).create({
      ...{ kind: "", apiVersion: "", metadata: { name: "laptop" } },
      spec: { certificate, reason: "keyCompromise" },
    });
    await untilListed((entries) => entries.includes(serialNumber));
    assert.match(await said(), /^on the list, reason 1; OCSP revoked, reason 1;/);
  });
});

function reasonToSkip(): string | false {
  if (spawnSync("go", ["version"]).status !== 0) return "Go is not installed";
  const listed = spawnSync("go", ["list", "-deps", "."], { cwd: import.meta.dirname, env: environment });
  return listed.status === 0 ? false : "golang.org/x/crypto is not on this machine";
}
