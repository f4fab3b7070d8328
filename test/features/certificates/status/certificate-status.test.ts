import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { configMapResource } from "../../../../src/features/core/index.ts";
import { issuedCertificateResource } from "../../../../src/features/certificates/resources.ts";
import { revocationResource } from "../../../../src/features/revocation/resources.ts";
import type { Revocation } from "../../../../src/features/revocation/resources.ts";
import { systemClock } from "../../../../src/machinery/api/clock.ts";
import { SealingKey } from "../../../../src/machinery/keys/sealing-key.ts";
import {
  prepareAuthority,
  switchAuthority,
} from "../../../../src/features/certificates/authorities/rotate-authority.ts";
import { eventually } from "../../../end-to-end/eventually.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { authorityId } from "../../../../src/features/certificates/status/addresses.ts";
import { parseCertificate, serialNumberHex } from "../../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { parseRevocationList } from "../../../../src/pki/revocation/certificate-revocation-list.ts";
import { formatDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { parseCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import { encodeCertificateId, encodeOcspRequest, readOcspResponse } from "../../../pki/revocation/ocsp-messages.ts";
import { CertificateFolder, CertificateScene, until } from "../certificate-loop-scene.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";

const names = platformNames;
const run = promisify(execFile);
const folder = new CertificateFolder();
let server: TestServer;
let scene: CertificateScene;
let ca: Certificate;
let laptop: Certificate;
let plain: string;
before(async () => {
  server = await startTestServer({
    settings: {
      "revocation-url": "http://pki.example.com/",
      "revocation-http-address": "127.0.0.1:0",
      "crl-sharding": true,
    },
  });
  plain = server.revocationHttpUrl ?? "";
  scene = new CertificateScene(server.client);
  laptop = await obtain("laptop");
  const bundle = await until(server.client, scene.references.clusterTrustBundles, ({ spec }) =>
    (spec.signerName ?? "").endsWith("/apiserver-client"),
  );
  const [found] = parseCertificatesPem(bundle.spec.trustBundle);
  assert.ok(found);
  ca = found;
  folder.write("ca.pem", ca);
  folder.write("laptop.pem", laptop);
});
after(async () => {
  await server.stop();
  folder.remove();
});

async function obtain(name: string, commonName = name): Promise<Certificate> {
  const signerName = `${names.domain}/apiserver-client`;
  const [leaf] = await scene.obtain({ name, signerName, commonName });
  assert.ok(leaf);
  return leaf;
}

async function revoke(name: string, spec: Revocation["spec"]): Promise<void> {
  const revocations = server.client.resource(revocationResource(names));
  await revocations.create({ kind: "", apiVersion: "", metadata: { name }, spec });
  await revocations.list(); // answered once the copies in memory, which OCSP reads, have the write
}

async function liftRevocation(name: string): Promise<void> {
  const revocations = server.client.resource(revocationResource(names));
  await revocations.delete(name);
  await revocations.list();
}

const serialOf = (certificate: Certificate) => ({
  issuer: formatDistinguishedName(certificate.issuer),
  serialNumber: serialNumberHex(certificate),
});

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: Buffer } = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(path, plain), { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** The list, or a part of it, once it is served and as wanted: the publisher writes the parts one after the other. */
function listed(isWanted: (entries: string) => boolean, path = `/pki/crl/${authorityId(ca)}.crl`): Promise<Answered> {
  return eventually("the list is as wanted", async () => {
    const answered = await ask(path);
    const isServed = answered.status === 200;
    return isServed && isWanted(parseRevocationList(answered.body).entries.toString("hex")) && answered;
  });
}
const has = (certificate: Certificate) => (entries: string) => entries.includes(serialNumberHex(certificate));
const lacks = (certificate: Certificate) => (entries: string) => !has(certificate)(entries);

const openssl = async (...args: readonly string[]): Promise<string> => {
  const { stdout, stderr } = await run("openssl", args).catch((error: { stdout: string; stderr: string }) => error);
  return stdout + stderr;
};

describe("the certificates of a server with --revocation-url", () => {
  it("name their part of the revocation list, OCSP, and their CA's certificate", async () => {
    const text = await openssl("x509", "-in", folder.file("laptop.pem"), "-noout", "-text");
    const base = "http://pki.example.com/pki";
    assert.match(text, new RegExp(`CRL Distribution Points:[^]*URI:${base}/crl/${authorityId(ca)}/[0-9a-f]\\.crl`));
    assert.match(text, new RegExp(`OCSP - URI:${base}/ocsp\n`));
    assert.match(text, new RegExp(`CA Issuers - URI:${base}/ca/${authorityId(ca)}\\.crt`));
    const issuer = await ask(`/pki/ca/${authorityId(ca)}.crt`);
    assert.equal(issuer.headers["content-type"], "application/pkix-cert");
    assert.deepEqual(issuer.body, ca.der);
  });
});

describe("the revocation list of a CA", () => {
  it("is accepted by openssl verify -crl_check, before and after a revocation, whole and in parts", async () => {
    const write = (name: string, der: Buffer): string => {
      writeFileSync(folder.file(name), encodePem("X509 CRL", der));
      return folder.file(name);
    };
    const check = (list: string): Promise<string> =>
      openssl("verify", "-crl_check", "-CAfile", folder.file("ca.pem"), "-CRLfile", list, folder.file("laptop.pem"));
    const [, part = ""] = /\/pki(\/crl\/\S+\/[0-9a-f]\.crl)/.exec(
      await openssl("x509", "-in", folder.file("laptop.pem"), "-noout", "-text"),
    ) ?? [""];
    const empty = await listed(lacks(laptop));
    assert.match(await check(write("list.pem", empty.body)), /laptop.pem: OK/);
    assert.match(await check(write("part.pem", (await listed(lacks(laptop), `/pki${part}`)).body)), /laptop.pem: OK/);

    await revoke("laptop", { certificate: serialOf(laptop), reason: "keyCompromise" });
    const { body, headers } = await listed(has(laptop));
    assert.match(await check(write("list.pem", body)), /certificate revoked/);
    const partial = await listed(has(laptop), `/pki${part}`);
    assert.match(await check(write("part.pem", partial.body)), /certificate revoked/);
    assert.match(await openssl("crl", "-in", folder.file("list.pem"), "-noout", "-text"), /Key Compromise/);
    // Another part: openssl finds that it does not speak of this certificate.
    const other = part.replace(/.\.crl/, part.endsWith("0.crl") ? "1.crl" : "0.crl");
    assert.match(
      await check(write("other.pem", (await listed(() => true, `/pki${other}`)).body)),
      /different CRL scope|unable to get certificate CRL/,
    );

    assert.equal(headers["content-type"], "application/pkix-crl");
    assert.match(headers["cache-control"] ?? "", /public, max-age=60/);
    const again = await ask(`/pki/crl/${authorityId(ca)}.crl`, { headers: { "if-none-match": headers["etag"] ?? "" } });
    assert.deepEqual([again.status, again.body.length], [304, 0]);
    const since = { "if-modified-since": headers["last-modified"] ?? "" };
    assert.equal((await ask(`/pki/crl/${authorityId(ca)}.crl`, { headers: since })).status, 304);
    const before1970 = await ask(`/pki/crl/${authorityId(ca)}.crl`, { headers: { "if-none-match": '"other"' } });
    assert.equal(before1970.status, 200);
    const head = await ask(`/pki/crl/${authorityId(ca)}.crl`, { method: "HEAD" });
    assert.deepEqual([head.status, head.body.length, head.headers["content-length"]], [200, 0, String(body.length)]);
  });

  it("has a larger number each time, and drops a hold that was lifted", async () => {
    const phone = await obtain("phone");
    const numberOf = ({ body }: Answered): number => parseRevocationList(body).number;
    const first = numberOf(await listed(lacks(phone)));
    await revoke("phone", { certificate: serialOf(phone), reason: "certificateHold" });
    const held = numberOf(await listed(has(phone)));
    await liftRevocation("phone");
    const lifted = numberOf(await listed(lacks(phone)));
    assert.ok(first < held && held < lifted, `${first} ${held} ${lifted}`);
  });

  it("has the certificates of a revoked subject, including those that are issued later", async () => {
    const earlier = await obtain("tablet-1", "tablet");
    await revoke("tablets", { certificate: { subject: "CN=tablet" }, reason: "cessationOfOperation" });
    await listed(has(earlier));
    const later = await obtain("tablet-2", "tablet");
    await listed(has(later));
  });

  it("is served only when the CA of its name has signed it", async () => {
    const configMaps = server.client.resource(configMapResource(names), names.namespaces.system);
    const name = `revocation-list-${authorityId(ca)}`;
    const head = await configMaps.get(name);
    const good = await listed(() => true);
    await configMaps.update({
      ...head,
      binaryData: { ...head.binaryData, list: Buffer.from("junk").toString("base64") },
    });
    assert.deepEqual((await listed(() => true)).body, good.body);
    await configMaps.delete(name);
    await listed((entries) => entries === parseRevocationList(good.body).entries.toString("hex"));
  });
});

describe("OCSP", () => {
  const status = (certificate: string, ...more: readonly string[]): Promise<string> => {
    const [issuer, url] = [folder.file("ca.pem"), `${plain}/pki/ocsp`];
    return openssl(
      "ocsp",
      ...more,
      "-issuer",
      issuer,
      "-cert",
      folder.file(certificate),
      "-url",
      url,
      "-CAfile",
      issuer,
    );
  };
  const post = async (body: Buffer, headers = {}) =>
    readOcspResponse((await ask("/pki/ocsp", { method: "POST", body, headers })).body);
  const nonce = Buffer.alloc(16, 7);

  it("answers openssl: good, then revoked, with and without a nonce, by SHA-1 and SHA-256", async () => {
    const desktop = await obtain("desktop");
    folder.write("desktop.pem", desktop);
    for (const more of [[], ["-no_nonce"], ["-sha256"]]) {
      const said = await status("desktop.pem", ...more);
      assert.match(said, /Response verify OK/);
      assert.match(said, /desktop.pem: good/);
    }
    await revoke("desktop", { certificate: serialOf(desktop), reason: "superseded" });
    for (const more of [[], ["-no_nonce"], ["-sha256"]]) {
      assert.match(await status("desktop.pem", ...more), /desktop.pem: revoked\n[^]*Reason: superseded/);
    }
    await liftRevocation("desktop");
    assert.match(await status("desktop.pem", "-no_nonce"), /desktop.pem: good/);
  });

  it("answers a GET with headers for caches, and with the same bytes while nothing changes", async () => {
    const request = encodeOcspRequest([encodeCertificateId(ca, laptop.serialNumber)]).toString("base64");
    const first = await ask(`/pki/ocsp/${encodeURIComponent(request)}`);
    assert.equal(first.headers["content-type"], "application/ocsp-response");
    assert.match(first.headers["cache-control"] ?? "", /public, max-age=60/);
    const { answers, certificates } = readOcspResponse(first.body);
    assert.equal(answers[0]?.type, "revoked");
    assert.match(certificates[0]?.subject.commonName ?? "", / OCSP responder$/);
    assert.deepEqual((await ask(`/pki/ocsp/${request.replaceAll("=", "%3d")}`)).body, first.body);
    const tag = { "if-none-match": first.headers["etag"] ?? "" };
    assert.equal((await ask(`/pki/ocsp/${encodeURIComponent(request)}`, { headers: tag })).status, 304);
    const withNonce = encodeOcspRequest([encodeCertificateId(ca, laptop.serialNumber)], nonce).toString("base64");
    assert.equal((await ask(`/pki/ocsp/${encodeURIComponent(withNonce)}`)).headers["cache-control"], "no-store");
  });

  it("says unknown for a certificate that the CA never issued, and for a negative serial number", async () => {
    const id = encodeCertificateId(ca, Buffer.alloc(20, 0x55));
    assert.equal((await post(encodeOcspRequest([id]))).answers[0]?.type, "unknown");
    const negative = Buffer.from(id);
    negative[negative.length - 20] = 0xff;
    assert.equal((await post(encodeOcspRequest([negative]))).answers[0]?.type, "unknown");
  });

  it("repeats a nonce of 16 to 32 octets, and leaves out others", async () => {
    const id = encodeCertificateId(ca, laptop.serialNumber);
    for (const [octets, isRepeated] of [
      [1, false],
      [15, false],
      [16, true],
      [32, true],
      [33, false],
      [128, false],
    ] as const) {
      const asked = Buffer.alloc(octets, octets);
      assert.deepEqual(
        (await post(encodeOcspRequest([id], asked))).nonce,
        isRepeated ? asked : undefined,
        String(octets),
      );
    }
    assert.equal((await post(encodeOcspRequest([id], Buffer.alloc(129)))).status, 1);
  });

  it("answers about several certificates of one CA at once, and refuses those of two CAs or of another", async () => {
    const own = encodeCertificateId(ca, laptop.serialNumber);
    const own256 = encodeCertificateId(ca, Buffer.of(1), "sha256");
    const both = await post(encodeOcspRequest([own, own256]));
    assert.deepEqual(
      both.answers.map(({ type, certificateId }) => [type, certificateId]),
      [
        ["revoked", own],
        ["unknown", own256],
      ],
    );
    const foreign = encodeCertificateId({ ...ca, rawSubject: Buffer.from("3000", "hex") }, laptop.serialNumber);
    assert.equal((await post(encodeOcspRequest([foreign]))).status, 6);
    assert.equal((await post(encodeOcspRequest([own, foreign]))).status, 6);
  });

  it("refuses a megabyte, ten thousand certificates, junk and a body that lies about its length", async () => {
    assert.equal((await post(Buffer.alloc(1 << 20, 0x30))).status, 1);
    const many = Array.from({ length: 10_000 }, () => encodeCertificateId(ca, Buffer.of(1)));
    assert.equal((await post(encodeOcspRequest(many))).status, 1);
    assert.equal((await post(encodeOcspRequest(many.slice(0, 17)))).status, 1);
    assert.equal((await post(Buffer.from("junk"))).status, 1);
    assert.equal((await post(Buffer.alloc(1 << 20), { "transfer-encoding": "chunked" })).status, 1);
    assert.equal((await ask(`/pki/ocsp/${"A".repeat(12_000)}`)).status, 200);
    assert.equal((await ask("/pki/ocsp/@@@")).body.at(-1), 1);
  });

  it("says revoked for a serial number that was revoked and is not in the inventory", async () => {
    const serialNumber = "5a".repeat(20);
    await revoke("elsewhere", { certificate: { issuer: formatDistinguishedName(ca.subject), serialNumber } });
    const id = encodeCertificateId(ca, Buffer.from(serialNumber, "hex"));
    assert.equal((await post(encodeOcspRequest([id]))).answers[0]?.type, "revoked");
  });

  it("keeps its responder's certificate in the inventory", async () => {
    const { items } = await server.client.resource(issuedCertificateResource(names)).list();
    const responders = items.filter(({ spec }) => spec.subject?.endsWith(" OCSP responder"));
    assert.deepEqual(
      responders.map(({ spec }) => spec.subject),
      ["CN=signet-apiserver-client-ca OCSP responder"],
    );
  });
});

describe("the server's own certificates", () => {
  const read = (name: string): Certificate[] =>
    parseCertificatesPem(readFileSync(join(server.dataDirectory, name), "utf8"));
  const shown = async (): Promise<string> => {
    const socket = connectTls({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { raw } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumberHex(parseCertificate(raw));
  };

  it("name their lists, are on them when they are revoked, and are replaced at once", async () => {
    const [authority] = read("ca.crt");
    const [serving] = read("serving.pem");
    assert.ok(authority && serving);
    const path = `/pki/crl/${authorityId(authority)}.crl`;
    const [own, leaf] = [folder.write("own.pem", authority), folder.write("serving.pem", serving)];
    const check = async (isWanted: (entries: string) => boolean): Promise<string> => {
      writeFileSync(folder.file("own.crl"), encodePem("X509 CRL", (await listed(isWanted, path)).body));
      const args = ["-crl_check", "-CAfile", own, "-CRLfile", folder.file("own.crl"), leaf];
      const ocsp = ["-issuer", own, "-cert", leaf, "-url", `${plain}/pki/ocsp`, "-CAfile", own, "-no_nonce"];
      return (await openssl("verify", ...args)) + (await openssl("ocsp", ...ocsp));
    };
    assert.match(await check(lacks(serving)), /serving.pem: OK[^]*serving.pem: good/);
    for (const file of [leaf, folder.write("admin.pem", ...read("admin.pem").slice(0, 1))]) {
      assert.match(await openssl("x509", "-in", file, "-noout", "-text"), /URI:http:\/\/pki.example.com\/pki\/crl\//);
    }
    assert.equal(await shown(), serialNumberHex(serving));
    await revoke("serving", { certificate: serialOf(serving), reason: "keyCompromise" });
    assert.match(await check(has(serving)), /certificate revoked[^]*serving.pem: revoked/);
    const [next] = read("serving.pem");
    assert.ok(next && serialNumberHex(next) !== serialNumberHex(serving));
    assert.equal(await shown(), serialNumberHex(next));
  });
});

describe("a CA that was replaced", () => {
  it("has a list and OCSP as long as it is trusted, like the one that signs", async () => {
    const late = await obtain("late");
    const { store, dataDirectory } = server;
    const keys = { store, dataDirectory, names, sealingKey: SealingKey.open(dataDirectory) };
    const rotation = { name: "apiserver-client-ca", clock: systemClock };
    await prepareAuthority(keys, rotation);
    await switchAuthority(keys, { ...rotation, isForced: true });
    const [next] = await eventually("the CA that signs", () => {
      const found = parseCertificatesPem(readFileSync(join(dataDirectory, "apiserver-client-ca.crt"), "utf8"));
      return found[0]?.der.equals(ca.der) === false && found;
    });
    assert.ok(next);
    await listed(() => true, `/pki/crl/${authorityId(next)}.crl`);
    await revoke("late", { certificate: serialOf(late), reason: "superseded" });
    await listed(has(late));
    const request = encodeOcspRequest([encodeCertificateId(ca, late.serialNumber)]);
    const { body } = await ask("/pki/ocsp", { method: "POST", body: request });
    assert.equal(readOcspResponse(body).answers[0]?.type, "revoked");
  });
});

describe("what is served without credentials", () => {
  it("is below /pki/ and nothing else, on the secure port and over plain HTTP", async () => {
    const secure = async (path: string, method = "GET") =>
      (
        await server.handler({
          method,
          path,
          query: "",
          headers: {},
          connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
          readBody: async () => Buffer.alloc(0),
          signal: new AbortController().signal,
        })
      ).status;
    const list = `/pki/crl/${authorityId(ca)}.crl`;
    assert.equal(await secure(list), 200);
    assert.equal(await secure("/pki/"), 200);
    assert.equal(await secure("/pki/ocsp", "POST"), 200);
    assert.equal(await secure(list, "DELETE"), 403);
    assert.equal(await secure("/pki"), 403);
    assert.equal(await secure("/pkix/crl"), 403);
    assert.equal(await secure("/api/v1/secrets"), 403);
    assert.equal(await secure("/pki/../api/v1/secrets"), 404);
    assert.equal(await secure(`/pki/crl/${"0".repeat(40)}.crl`), 404);
    for (const path of ["/", "/api/v1/secrets", "/metrics", "/readyz", "/pki", "/pki/../api"]) {
      assert.equal((await ask(path)).status, 404, path);
    }
    assert.equal((await ask(list, { method: "DELETE" })).status, 405);
    const overview = (await ask("/pki/")).body.toString();
    assert.ok(overview.includes(`CN=signet-apiserver-client-ca\n  ${list}  number `), overview);
  });

  it("takes a target in absolute form with the steps of its path", async () => {
    const statusOf = async (target: string): Promise<number | undefined> => {
      const { hostname, port } = new URL(plain);
      const sent = httpRequest({ hostname, port, path: target, agent: false }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    assert.equal(await statusOf("http://pki.example.com/pki/"), 200);
    assert.equal(await statusOf("http://pki.example.com/version"), 404);
    assert.equal(await statusOf("https://pki.example.com/pki/"), 400);
    assert.equal(await statusOf("*"), 400);
  });

  it("is not served without --revocation-url", async () => {
    const other = await startTestServer({ settings: { controllers: "false" } });
    const { client } = other;
    await assert.rejects(client.request(`/pki/crl/${authorityId(ca)}.crl`), /could not find|404/);
    assert.equal(other.revocationHttpUrl, undefined);
    await other.stop();
  });

  it("withstands clients that send half a request or none", async () => {
    const { port } = new URL(plain);
    const half = connect(Number(port), "127.0.0.1");
    half.write("POST /pki/ocsp HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf");
    half.destroy();
    const junk = connect(Number(port), "127.0.0.1");
    junk.write("\u0016\u0003\u0001 TLS\r\n\r\n");
    assert.match(await text(junk), /^HTTP\/1\.1 400 /);
    assert.equal((await ask("/pki/")).status, 200);
  });
});
