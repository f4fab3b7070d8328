import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import { authorityId } from "../../../src/features/certificates/status/addresses.ts";
import { signerNames } from "../../../src/features/certificates/signer-names.ts";
import { revocationResource } from "../../../src/features/revocation/resources.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../../src/machinery/client/https/https-transport.ts";
import { SealingKey } from "../../../src/machinery/keys/sealing-key.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { serialNumberHex } from "../../../src/pki/certificates/certificate.ts";
import { formatDistinguishedName } from "../../../src/pki/names/distinguished-name.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { prepareAuthority, switchAuthority } from "../../../src/features/certificates/authorities/rotate-authority.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { startServer } from "../../../src/server/start-server.ts";
import type { RunningServer } from "../../../src/server/start-server.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { CertificateFolder, CertificateScene } from "../../features/certificates/certificate-loop-scene.ts";
import { encodeCertificateId, encodeOcspRequest, readOcspResponse } from "../../pki/revocation/ocsp-messages.ts";
import { keptStore } from "../kept-store.ts";

const folder = new CertificateFolder();
const store = new MemoryStore();
const start = (name: string, controllers: boolean): Promise<RunningServer> => {
  const addresses = { "revocation-url": "http://pki.example.com", "revocation-http-address": "127.0.0.1:0" };
  const config = parseServerConfig({
    commandLine: { "data-dir": folder.file(name), "secure-port": "0", ...addresses, controllers: String(controllers) },
    file: {},
  });
  const log = pino({ level: "silent" });
  return startServer(config, { log, store: keptStore(store) });
};

/** A replica gets the CAs and keys of the others before its first start (docs/replicas.md). */
const isShared = (file: string): boolean => !/server\.lock|serving\.pem|admin\./.test(file);

/** Two replicas on one store with the same CAs. The loops run in the first. */
describe("two servers on one store", () => {
  let servers: readonly [RunningServer, RunningServer];
  let scene: CertificateScene;
  before(async () => {
    const first = await start("first", true);
    cpSync(folder.file("first"), folder.file("second"), { recursive: true, filter: isShared });
    servers = [first, await start("second", false)];
    scene = new CertificateScene(first.client);
  });
  after(async () => {
    for (const server of servers) await server.stop();
    folder.remove();
  });

  const signerName = signerNames.apiserverClient(names);
  const privateKey = generatePrivateKey("ECDSA P-256");
  const obtain = async (name: string) => {
    const [leaf] = await scene.obtain({ name, signerName, commonName: name, privateKey });
    assert.ok(leaf);
    return leaf;
  };
  const authority = (name: "first" | "second") => {
    const [ca] = parseCertificatesPem(readFileSync(join(folder.file(name), "apiserver-client-ca.crt"), "utf8"));
    assert.ok(ca);
    return ca;
  };
  /** What both serve at an address, once it is the same. */
  const served = (path: string): Promise<string> =>
    eventually(`${path} at both`, async () => {
      const answers = await Promise.all(
        servers.map(async ({ revocationHttpUrl = "" }) => {
          const answer = await fetch(`${revocationHttpUrl}${path}`);
          const { etag, "last-modified": changed, "content-type": type } = Object.fromEntries(answer.headers);
          const body = Buffer.from(await answer.arrayBuffer()).toString("base64");
          return JSON.stringify({ status: answer.status, etag, changed, type, body });
        }),
      );
      const [one, other] = answers;
      return one !== undefined && one === other && one.startsWith('{"status":200,') && one;
    });
  const statusesOf = (request: Buffer): Promise<readonly (string | undefined)[]> =>
    Promise.all(
      servers.map(async ({ revocationHttpUrl = "" }) => {
        const answer = await fetch(`${revocationHttpUrl}/pki/ocsp`, { method: "POST", body: new Uint8Array(request) });
        return readOcspResponse(Buffer.from(await answer.arrayBuffer())).answers[0]?.type;
      }),
    );

  it("serve the same lists and CAs, and both answer OCSP", async () => {
    const ca = authority("first");
    const leaf = await obtain("laptop");
    for (const path of ["/pki/", `/pki/crl/${authorityId(ca)}.crl`, `/pki/ca/${authorityId(ca)}.crt`])
      await served(path);
    const request = encodeOcspRequest([encodeCertificateId(ca, leaf.serialNumber)]);
    await eventually("good at both", async () => (await statusesOf(request)).join() === "good,good");
  });

  it("refuse a revoked certificate from the next request on, on the connection that it has with the other", async () => {
    const leaf = await obtain("phone");
    const [first, second] = servers;
    const pem = { certificate: encodePem("CERTIFICATE", leaf.der), key: encodePrivateKeyPem(privateKey) };
    const { url, caCertificates } = second;
    const client = new ApiClient(httpsTransport({ server: url, caCertificates, clientCertificate: pem }));
    const group = names.group("authentication");
    const body = { apiVersion: `${group}/v1`, kind: "SelfSubjectReview" };
    const ask = () => client.request(`/apis/${group}/v1/selfsubjectreviews`, { method: "POST", body });
    await ask();
    const certificate = { issuer: formatDistinguishedName(leaf.issuer), serialNumber: serialNumberHex(leaf) };
    await first.client
      .resource(revocationResource(names))
      .create({ kind: "", apiVersion: "", metadata: { name: "phone" }, spec: { certificate } });
    await assert.rejects(ask(), { code: 401 });
    client.close();
    const request = encodeOcspRequest([encodeCertificateId(authority("first"), leaf.serialNumber)]);
    await eventually("revoked at both", async () => (await statusesOf(request)).join() === "revoked,revoked");
  });

  it("are joined by a third that starts later and knows what was issued and revoked before", async () => {
    const [good, bad] = [await obtain("desktop"), await obtain("tablet-before")];
    const certificate = { issuer: formatDistinguishedName(bad.issuer), serialNumber: serialNumberHex(bad) };
    await servers[0].client
      .resource(revocationResource(names))
      .create({ kind: "", apiVersion: "", metadata: { name: "tablet-before" }, spec: { certificate } });
    cpSync(folder.file("second"), folder.file("third"), { recursive: true, filter: isShared });
    const third = await start("third", false);
    const ca = authority("first");
    const request = encodeOcspRequest([good, bad].map(({ serialNumber }) => encodeCertificateId(ca, serialNumber)));
    const answer = await fetch(`${third.revocationHttpUrl ?? ""}/pki/ocsp`, {
      method: "POST",
      body: new Uint8Array(request),
    });
    const { answers } = readOcspResponse(Buffer.from(await answer.arrayBuffer()));
    await third.stop();
    assert.deepEqual(
      answers.map(({ type }) => type),
      ["good", "revoked"],
    );
  });

  it("follow the rotation of a CA, and serve the lists of both", async () => {
    const before = authority("first");
    const dataDirectory = folder.file("first");
    const keys = { store, dataDirectory, names, sealingKey: SealingKey.open(dataDirectory) };
    const rotation = { name: "apiserver-client-ca", clock: systemClock };
    await prepareAuthority(keys, rotation);
    await switchAuthority(keys, { ...rotation, isForced: true });
    const next = await eventually("the new CA in both folders", () => {
      const [one, other] = [authority("first"), authority("second")];
      return !one.der.equals(before.der) && one.der.equals(other.der) && one;
    });
    for (const ca of [before, next]) await served(`/pki/crl/${authorityId(ca)}.crl`);
    const leaf = await obtain("tablet");
    assert.ok(leaf.rawIssuer.equals(next.rawSubject));
    const request = encodeOcspRequest([encodeCertificateId(next, leaf.serialNumber)]);
    await eventually("good at both", async () => (await statusesOf(request)).join() === "good,good");
  });
});
