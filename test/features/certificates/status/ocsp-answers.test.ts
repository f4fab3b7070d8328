import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { fingerprintOf, parseCertificate } from "../../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { loadCertificateAuthority, signCertificate } from "../../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateTemplate } from "../../../../src/pki/certificates/certificate-template.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { issuedCertificateResource } from "../../../../src/features/certificates/resources.ts";
import { certificateRecord } from "../../../../src/features/certificates/inventory/certificate-record.ts";
import { formatDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import { encodeCertificatesPem, parseCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { authorityId } from "../../../../src/features/certificates/status/addresses.ts";
import { OcspAnswers } from "../../../../src/features/certificates/status/ocsp-answers.ts";
import type { OcspAnswersOptions } from "../../../../src/features/certificates/status/ocsp-answers.ts";
import { OcspResponders } from "../../../../src/features/certificates/status/ocsp-responders.ts";
import { revocationResource } from "../../../../src/features/revocation/resources.ts";
import type { CertificateStatus } from "../../../../src/pki/revocation/ocsp-response.ts";
import { reasonCodes } from "../../../../src/pki/revocation/revocation-reason.ts";
import { ManualTime } from "../../../manual-time.ts";
import { encodeCertificateId, encodeOcspRequest, readOcspResponse } from "../../../pki/revocation/ocsp-messages.ts";
import { sendInProcess } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { turnsDuring } from "../../../turns-during.ts";
import { newAuthority } from "../certificate-loop-scene.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
/** Of an OCSPResponse (RFC 6960 section 4.2.1). */
const [successful, tryLater, unauthorized] = [0, 3, 6];
const revoked = Buffer.alloc(20, 0x5a);

const leafKey = generatePrivateKey("ECDSA P-256");
const leafTemplate = (now: number): CertificateTemplate => ({
  subject: { commonName: "ann" },
  publicKey: publicKeyInfoOf(leafKey),
  ...{ notBefore: now, notAfter: now + day, isCA: false, keyUsages: ["digitalSignature"] },
  ...{ extendedKeyUsages: ["clientAuth"], subjectAltNames: noSubjectAltNames },
});

describe("an OCSP answer", () => {
  const time = new ManualTime();
  let server: TestServer;
  let ca: Certificate;
  before(async () => {
    const settings = { "revocation-url": "http://pki.example.com/", controllers: false };
    server = await startTestServer({ clock: time.clock, settings });
    const [found] = parseCertificatesPem(readFileSync(join(server.dataDirectory, "apiserver-client-ca.crt"), "utf8"));
    assert.ok(found);
    ca = found;
    await revoke(revoked);
  });

  const revoke = async (serial: Buffer): Promise<void> => {
    const serialNumber = serial.toString("hex");
    const certificate = { issuer: formatDistinguishedName(ca.subject), serialNumber };
    const revocations = server.client.resource(revocationResource(names));
    const metadata = { name: `serial-${serialNumber}` };
    await revocations.create({ kind: "", apiVersion: "", metadata, spec: { certificate } });
    await revocations.list(); // answered once the copies in memory, which OCSP reads, have the write
  };

  const ask = async (serialNumber: Buffer = revoked, nonce?: Buffer): Promise<Buffer> => {
    const body = encodeOcspRequest([encodeCertificateId(ca, serialNumber)], nonce);
    const response = await sendInProcess(server, "/pki/ocsp", { method: "POST", body });
    assert.ok(Buffer.isBuffer(response.body));
    return response.body;
  };
  const timesOf = (der: Buffer) => {
    const [answer] = readOcspResponse(der).answers;
    assert.ok(answer);
    return answer;
  };

  it("knows a certificate by the CA's key, also when the CA had another key identifier then", async () => {
    const read = (name: string): string => readFileSync(join(server.dataDirectory, name), "utf8");
    const { privateKey } = loadCertificateAuthority({
      certificate: read("apiserver-client-ca.crt"),
      privateKey: read("apiserver-client-ca.key"),
    });
    const answerFor = async (key: KeyObject): Promise<string | undefined> => {
      const earlier = { certificate: { ...ca, subjectKeyId: Buffer.of(1, 2, 3) }, privateKey: key };
      const certificate = parseCertificate(signCertificate(leafTemplate(time.clock.now()), earlier));
      const text = Buffer.from(encodeCertificatesPem([certificate])).toString("base64");
      const request = { metadata: {}, spec: { signerName: `${names.domain}/apiserver-client` } };
      const records = server.client.resource(issuedCertificateResource(names));
      await records.create(certificateRecord({ recordName: fingerprintOf(certificate), certificate, request, text }));
      await records.list();
      return readOcspResponse(await ask(certificate.serialNumber)).answers[0]?.type;
    };
    assert.deepEqual([await answerFor(privateKey), await answerFor(leafKey)], ["good", "unknown"]);
  });

  it("is signed again after half of its hour, and when the clock was set back", async () => {
    const first = await ask();
    const hasJustBegun = time.clock.now() - timesOf(first).thisUpdate - 5 * minute < 1000;
    assert.ok(hasJustBegun, "for clocks that are five minutes behind");
    time.pass(29 * minute);
    assert.deepEqual(await ask(), first);
    time.pass(2 * minute);
    const second = await ask();
    assert.equal(timesOf(second).thisUpdate, timesOf(first).thisUpdate + 31 * minute);
    assert.equal(timesOf(second).nextUpdate, timesOf(second).thisUpdate + 65 * minute);
    time.setClock(-5 * minute);
    assert.equal(timesOf(await ask()).thisUpdate, timesOf(second).thisUpdate - 5 * minute);
  });

  it("about many certificates is made in turns of the event loop", async (t) => {
    const others = Array.from({ length: 15 }, (_, index) => encodeCertificateId(ca, Buffer.from([index + 1])));
    const ids = [encodeCertificateId(ca, revoked), ...others];
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each look takes longer than a turn
    const turns = await turnsDuring(async () => {
      const { body } = await sendInProcess(server, "/pki/ocsp", { method: "POST", body: encodeOcspRequest(ids) });
      assert.ok(Buffer.isBuffer(body));
      assert.equal(readOcspResponse(body).answers.length, 16);
    });
    assert.ok(turns >= 16, `${turns} turns`);
    assert.equal(readOcspResponse(await ask()).answers.length, 1, "it is not kept for one of them");
  });

  it("is refused for a CA with another name or another key, and for certificates of two CAs", async () => {
    const statusFor = async (...issuers: readonly Pick<Certificate, "rawSubject" | "publicKey">[]): Promise<number> => {
      const ids = issuers.map((issuer) => encodeCertificateId(issuer, revoked));
      const { body } = await sendInProcess(server, "/pki/ocsp", { method: "POST", body: encodeOcspRequest(ids) });
      assert.ok(Buffer.isBuffer(body));
      return readOcspResponse(body).status;
    };
    const [other] = parseCertificatesPem(readFileSync(join(server.dataDirectory, "ca.crt"), "utf8"));
    assert.ok(other);
    assert.deepEqual([await statusFor(ca, ca), await statusFor(other, other)], [successful, successful]);
    const [rawSubject, publicKey] = [other.rawSubject, other.publicKey];
    assert.equal(await statusFor({ ...ca, rawSubject }), unauthorized);
    assert.equal(await statusFor({ ...ca, publicKey }), unauthorized);
    assert.deepEqual([await statusFor(ca, other), await statusFor(other, ca)], [unauthorized, unauthorized]);
  });

  it("comes with the CA's certificate at the address beside it, also before there is a list", async () => {
    const at = (id: string) => sendInProcess(server, `/pki/ca/${id}.crt`);
    assert.deepEqual((await at(authorityId(ca))).body, ca.der);
    assert.equal((await at("0".repeat(40))).status, 404);
  });

  it("is not kept for a certificate that was never issued: strangers could make others be forgotten", async () => {
    const unissued = Buffer.of(0x12);
    assert.notDeepEqual(await ask(unissued), await ask(unissued), "each is signed anew");
  });

  const responderOf = async (): Promise<Certificate | undefined> => readOcspResponse(await ask()).certificates[0];

  it("is signed with another key where the certificate of the first one begins later, as after a clock that was ahead", async () => {
    const later = await responderOf();
    time.setClock(-day);
    const notBefore = (await responderOf())?.notBefore ?? Infinity;
    assert.ok(notBefore <= time.clock.now() && time.clock.now() < (later?.notBefore ?? 0));
    time.setClock(day);
  });

  it("is signed with another key before the certificate of the first one ends", async () => {
    time.pass(8 * day);
    const first = await responderOf();
    assert.equal(first?.notAfter, Math.floor(time.clock.now() / 1000) * 1000 + 7 * day);
    time.pass(3 * day);
    assert.deepEqual((await responderOf())?.der, first?.der);
    time.pass(day);
    const second = await responderOf();
    assert.notDeepEqual(second?.der, first?.der);
    assert.equal(second?.notAfter, (first?.notAfter ?? 0) + 4 * day);
  });

  it("is made a thousand times a second at most: who asks about others is told to try later, and kept ones are given out", async () => {
    time.pass(minute);
    const kept = await ask();
    const statuses = new Map<number, number>();
    for (let number = 1; number <= 1010; number++) {
      const { status } = readOcspResponse(await ask(Buffer.from([0x10, number >> 8, number & 0xff])));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert.deepEqual([...statuses.keys()], [successful, tryLater]);
    assert.ok((statuses.get(tryLater) ?? 0) >= 10);
    assert.deepEqual(await ask(), kept);
    assert.deepEqual(await ask(revoked, Buffer.alloc(16, 7)), kept);
    const other = Buffer.alloc(20, 0x5b);
    await revoke(other);
    const signed = await ask(other, Buffer.alloc(16, 7));
    assert.equal(readOcspResponse(signed).status, successful, "for what is on record some are left");
    assert.deepEqual(await ask(other), signed);
    time.pass(1000);
    assert.equal(readOcspResponse(await ask(Buffer.of(0x11))).status, successful);
    assert.notDeepEqual(await ask(revoked, Buffer.alloc(16, 7)), kept);
  });

  it("is refused for a CA that has ended, and for its last hour says no longer than the CA is valid", async () => {
    time.pass(ca.notAfter - time.clock.now() - 10 * minute);
    assert.equal(timesOf(await ask()).nextUpdate, ca.notAfter);
    time.pass(10 * minute);
    assert.equal(readOcspResponse(await ask()).status, unauthorized);
  });
});

describe("the first OCSP answer of a process", () => {
  const time = new ManualTime();
  const authority = rootSigningAuthority(newAuthority("first"));
  const body = encodeOcspRequest([encodeCertificateId(authority.certificate, revoked)]);
  const answersWith = (given: Pick<OcspAnswersOptions, "statuses"> & { readonly record?: () => Promise<void> }) => {
    const failures: unknown[] = [];
    const { statuses, record = () => Promise.resolve() } = given;
    const { clock } = time;
    const answers = new OcspAnswers({
      authorities: () => [{ signerName: "example.com/first", authority }],
      statuses,
      responders: new OcspResponders({ clock, record }),
      clock,
      onFailure: (error) => failures.push(error),
    });
    return { ask: async () => readOcspResponse((await answers.answer(body)).der), failures };
  };

  it("waits until all revocations are known that there were at the start", async () => {
    let isKnown = false;
    const statuses: OcspAnswersOptions["statuses"] = {
      ready: async () => {
        await setImmediate();
        isKnown = true;
      },
      of: () => (isKnown ? { type: "revoked", revokedAt: 0, reason: "unspecified" } : { type: "good" }),
    };
    assert.equal((await answersWith({ statuses }).ask()).answers[0]?.type, "revoked");
  });

  it("is made anew when the time or the reason of the revocation changes", async () => {
    let status: CertificateStatus = { type: "revoked", revokedAt: 0, reason: "certificateHold" };
    const { ask } = answersWith({ statuses: { ready: () => Promise.resolve(), of: () => status } });
    const answered = async () => {
      const [answer] = (await ask()).answers;
      return [answer?.revokedAt, answer?.reason];
    };
    assert.deepEqual(await answered(), [0, reasonCodes.certificateHold]);
    status = { ...status, reason: "keyCompromise" };
    assert.deepEqual(await answered(), [0, reasonCodes.keyCompromise]);
    status = { ...status, revokedAt: 5000 };
    assert.deepEqual(await answered(), [5000, reasonCodes.keyCompromise]);
  });

  it("is signed with one key, however many ask for it at once", async () => {
    let keys = 0;
    const record = async (): Promise<void> => {
      keys += 1;
      await setImmediate();
    };
    const statuses: OcspAnswersOptions["statuses"] = { ready: () => Promise.resolve(), of: () => ({ type: "good" }) };
    const { ask } = answersWith({ statuses, record });
    const answers = await Promise.all(Array.from({ length: 5 }, ask));
    assert.equal(keys, 1);
    assert.equal(
      new Set(answers.map(({ certificates: [responder] }) => responder && fingerprintOf(responder))).size,
      1,
    );
  });

  it("is not given before the certificate of its key is recorded, which is tried again after five seconds", async () => {
    let tries = 0;
    const record = async (): Promise<void> => {
      tries += 1;
      if (tries === 1) throw new Error("the store does not answer");
    };
    const statuses: OcspAnswersOptions["statuses"] = { ready: () => Promise.resolve(), of: () => ({ type: "good" }) };
    const { ask, failures } = answersWith({ statuses, record });
    assert.equal((await ask()).status, tryLater);
    time.pass(4999);
    assert.equal((await ask()).status, tryLater);
    assert.equal(tries, 1);
    time.pass(1);
    assert.equal((await ask()).status, successful);
    assert.equal(failures.length, 2);
  });

  it("stays the key's own while the certificate of the next key cannot be recorded, until its own ends", async () => {
    let isStoreThere = true;
    const record = async (): Promise<void> => {
      if (!isStoreThere) throw new Error("the store does not answer");
    };
    const statuses: OcspAnswersOptions["statuses"] = {
      ready: () => Promise.resolve(),
      of: () => ({ type: "unknown" }),
    };
    const { ask } = answersWith({ statuses, record });
    const [first] = (await ask()).certificates;
    isStoreThere = false;
    time.pass(6 * day);
    await ask(); // tries to renew it
    assert.deepEqual((await ask()).certificates[0]?.der, first?.der);
    time.pass(2 * day);
    assert.equal((await ask()).status, tryLater);
  });
});
