import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { tags } from "../../../src/pki/der/der.ts";
import {
  encodeElement,
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeSmallInteger,
} from "../../../src/pki/der/der-writer.ts";
import { encodeExtension } from "../../../src/pki/certificates/extension.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { maximumCertificateIds, parseOcspRequest } from "../../../src/pki/revocation/ocsp-request.ts";
import { encodeOcspFailure, signOcspResponse } from "../../../src/pki/revocation/ocsp-response.ts";
import type { CertificateStatus } from "../../../src/pki/revocation/ocsp-response.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";
import { reasonCodes } from "../../../src/pki/revocation/revocation-reason.ts";
import type { RevocationReason } from "../../../src/pki/revocation/revocation-reason.ts";
import { encodeCertificateId, encodeOcspRequest, readOcspResponse } from "./ocsp-messages.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const folder = temporaryFolder();
const inFolder = (name: string): string => join(folder, name);

const now = Math.floor(Date.now() / 1000) * 1000;
const authority = createCertificateAuthority({
  subject: { commonName: "asked" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: now - 3_600_000,
  notAfter: now + 3_600_000,
});
const { certificate } = authority;

const octets = (minLength: number, maxLength: number) => fc.uint8Array({ minLength, maxLength });
const certificateId = fc
  .tuple(octets(1, 20), fc.constantFrom("sha1" as const, "sha256" as const))
  .map(([serial, hash]) => ({ serial, hash, der: encodeCertificateId(certificate, serial, hash) }));

describe("a request for the status of certificates", () => {
  it("is the same after it was encoded and decoded", () => {
    const ids = fc.array(certificateId, { minLength: 1, maxLength: maximumCertificateIds });
    fc.assert(
      fc.property(ids, fc.option(octets(1, 128), { nil: undefined }), (asked, nonce) => {
        const request = parseOcspRequest(
          encodeOcspRequest(
            asked.map(({ der }) => der),
            nonce,
          ),
        );
        assert.deepEqual(
          request.certificateIds.map(({ der, hashAlgorithm, serialNumber }) => ({
            der,
            hashAlgorithm,
            serial: BigInt(`0x${serialNumber.toString("hex")}`),
          })),
          asked.map(({ der, hash, serial }) => ({
            der,
            hashAlgorithm: oids[hash],
            serial: BigInt(`0x${Buffer.from(serial).toString("hex")}`),
          })),
        );
        assert.deepEqual(request.nonce, nonce && Buffer.from(nonce));
      }),
      { numRuns: 100 },
    );
  });

  it("is read or refused with a PkiError, whatever the octets", () => {
    const good = encodeOcspRequest([encodeCertificateId(certificate, Buffer.of(1, 2))], Buffer.alloc(16, 7));
    const read = (bytes: Buffer): void => {
      try {
        parseOcspRequest(bytes);
      } catch (error) {
        assert.ok(error instanceof PkiError, String(error));
      }
    };
    fc.assert(
      fc.property(fc.nat({ max: good.length - 1 }), fc.nat({ max: 255 }), fc.nat({ max: 3 }), (at, octet, bend) => {
        const bent = Buffer.from(good);
        if (bend < 2) bent[at] = octet;
        read(
          bend === 0
            ? bent
            : bend === 1
              ? bent.subarray(0, at)
              : Buffer.concat([bent.subarray(0, at), Buffer.of(octet), bent.subarray(at)]),
        );
      }),
      { numRuns: 5000 },
    );
    fc.assert(fc.property(octets(0, 200), (bytes) => read(Buffer.from(bytes))));
  });

  it("is refused with too many certificates, none, or a nonce of a wrong length", () => {
    const id = encodeCertificateId(certificate, Buffer.of(1));
    const many = (count: number): Buffer => encodeOcspRequest(Array.from({ length: count }, () => id));
    assert.equal(parseOcspRequest(many(maximumCertificateIds)).certificateIds.length, maximumCertificateIds);
    assert.throws(() => parseOcspRequest(many(maximumCertificateIds + 1)), /too many/);
    assert.throws(() => parseOcspRequest(many(10_000)), /too many/);
    assert.throws(() => parseOcspRequest(encodeOcspRequest([])), /no certificate/);
    assert.throws(() => parseOcspRequest(encodeOcspRequest([id], Buffer.alloc(0))), /nonce/);
    assert.equal(parseOcspRequest(encodeOcspRequest([id], Buffer.alloc(128))).nonce?.length, 128);
    assert.throws(() => parseOcspRequest(encodeOcspRequest([id], Buffer.alloc(129))), /nonce/);
    assert.throws(() => parseOcspRequest(Buffer.concat([many(1), Buffer.of(0)])), /trailing data/);
    assert.throws(() => parseOcspRequest(encodeSequence()), PkiError);
  });

  it("is refused of another version, with hashes that no algorithm makes, or with a critical extension that it does not know", () => {
    const id = encodeCertificateId(certificate, Buffer.of(1));
    const list = encodeSequence(encodeSequence(id));
    const read = (...parts: readonly Buffer[]) => parseOcspRequest(encodeSequence(encodeSequence(...parts)));
    const version = (number: number): Buffer => encodeElement(0xa0, encodeSmallInteger(number));
    assert.equal(read(version(0), list).certificateIds.length, 1);
    assert.throws(() => read(version(1), list), /unsupported version/);
    const algorithm = encodeSequence(encodeObjectIdentifier(oids.sha256));
    const hashed = (name: number, key: number) => {
      const hashes = [name, key].map((length) => encodeOctetString(Buffer.alloc(length)));
      return read(encodeSequence(encodeSequence(encodeSequence(algorithm, ...hashes, encodeSmallInteger(1)))));
    };
    assert.equal(hashed(64, 64).certificateIds.length, 1);
    assert.throws(() => hashed(65, 64), /the hash is too long/);
    assert.throws(() => hashed(64, 65), /the hash is too long/);
    for (const [isCritical, extensionId] of [
      [true, "1.2.3"],
      [false, "1.2.3"],
      [true, oids.ocspNonce],
    ] as const) {
      const extension = encodeExtension({ id: extensionId, isCritical, value: encodeOctetString(Buffer.of(1)) });
      const extended = (): unknown => read(list, encodeElement(0xa2, encodeSequence(extension)));
      const inRequest = (): unknown =>
        read(encodeSequence(encodeSequence(id, encodeElement(0xa0, encodeSequence(extension)))));
      for (const parse of [extended, inRequest]) {
        if (isCritical && extensionId === "1.2.3") assert.throws(parse, /unknown critical extension 1\.2\.3/);
        else parse();
      }
    }
  });

  it("has a nonce only of the extension that carries one", () => {
    const list = encodeSequence(encodeSequence(encodeCertificateId(certificate, Buffer.of(1))));
    const [other, own] = ["1.2.3", oids.ocspNonce].map((id, index) =>
      encodeExtension({ id, isCritical: false, value: encodeOctetString(Buffer.of(index)) }),
    );
    const nonceBeside = (...extensions: readonly (Buffer | undefined)[]): Buffer | undefined => {
      const all = encodeElement(0xa2, encodeSequence(...extensions.filter((one) => one !== undefined)));
      return parseOcspRequest(encodeSequence(encodeSequence(list, all))).nonce;
    };
    assert.deepEqual(nonceBeside(other, own), Buffer.of(1));
    assert.equal(nonceBeside(other), undefined);
  });

  it("is refused with parameters of the hash, which would give a certificate names without end", () => {
    const id = encodeCertificateId(certificate, Buffer.of(1));
    // The parameters are the NULL between the hash's name and the first of its values.
    const at = id.indexOf(Buffer.of(tags.null, 0));
    const withParameters = (parameters: Buffer): Buffer => {
      const algorithm = encodeSequence(encodeObjectIdentifier(oids.sha1), parameters);
      return encodeSequence(algorithm, id.subarray(at + 2));
    };
    const read = (parameters: Buffer) => parseOcspRequest(encodeOcspRequest([withParameters(parameters)]));
    assert.equal(read(Buffer.alloc(0)).certificateIds.length, 1);
    assert.equal(read(encodeElement(tags.null)).certificateIds.length, 1);
    assert.throws(() => read(encodeOctetString(Buffer.alloc(7000))), /the hash has parameters/);
    assert.throws(() => read(encodeSequence()), /the hash has parameters/);
  });

  it("of openssl is read, also when it is about several certificates", () => {
    writeFileSync(inFolder("ca.pem"), encodePem("CERTIFICATE", certificate.der));
    const args = ["-issuer", inFolder("ca.pem"), "-serial", "0x7fab", "-sha256", "-serial", "9"];
    execFileSync("openssl", ["ocsp", ...args, "-reqout", inFolder("request.der")], { stdio: "pipe" });
    const { certificateIds, nonce } = parseOcspRequest(readFileSync(inFolder("request.der")));
    assert.deepEqual(
      certificateIds.map(({ serialNumber }) => serialNumber.toString("hex")),
      ["7fab", "09"],
    );
    assert.equal(certificateIds[0]?.hashAlgorithm, oids.sha1);
    assert.equal(certificateIds[1]?.hashAlgorithm, oids.sha256);
    assert.ok(nonce !== undefined && nonce.length >= 16);
  });

  it("that openssl has signed, with the name of who asks, is read like another", () => {
    writeFileSync(inFolder("ca.pem"), encodePem("CERTIFICATE", certificate.der));
    writeFileSync(inFolder("ca.key"), encodePrivateKeyPem(authority.privateKey), { mode: 0o600 });
    const asked = ["-issuer", inFolder("ca.pem"), "-serial", "0x7fab"];
    const signer = ["-signer", inFolder("ca.pem"), "-signkey", inFolder("ca.key")];
    execFileSync("openssl", ["ocsp", ...asked, ...signer, "-reqout", inFolder("signed.der")], { stdio: "pipe" });
    const der = readFileSync(inFolder("signed.der"));
    assert.ok(der.includes("asked"));
    assert.deepEqual(
      parseOcspRequest(der).certificateIds.map(({ serialNumber }) => serialNumber.toString("hex")),
      ["7fab"],
    );
  });
});

describe("an answer about the status of certificates", () => {
  const status: fc.Arbitrary<CertificateStatus> = fc.oneof(
    fc.constant({ type: "good" } as const),
    fc.constant({ type: "unknown" } as const),
    fc.record({
      type: fc.constant("revoked" as const),
      revokedAt: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1000),
      reason: fc.constantFrom(...(Object.keys(reasonCodes) as RevocationReason[])),
    }),
  );
  const responder = { ...authority, chain: [certificate] };

  it("is the same after it was encoded and decoded", () => {
    const responses = fc.array(fc.record({ id: certificateId, status }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(responses, fc.option(octets(1, 128), { nil: undefined }), (answers, nonce) => {
        const written = answers.map(({ id, status: one }) => ({ certificateId: id.der, status: one }));
        const times = { thisUpdate: now, nextUpdate: now + 60_000 };
        const named = nonce === undefined ? {} : { nonce: Buffer.from(nonce) };
        const read = readOcspResponse(signOcspResponse({ responses: written, ...times, ...named }, responder));
        assert.equal(read.status, 0);
        assert.deepEqual(read.nonce, named.nonce);
        assert.deepEqual(
          read.answers,
          written.map(({ certificateId: id, status: one }) => ({
            certificateId: id,
            type: one.type,
            ...(one.type === "revoked" && {
              revokedAt: one.revokedAt,
              ...(one.reason !== "unspecified" && { reason: reasonCodes[one.reason] }),
            }),
            ...times,
          })),
        );
        assert.deepEqual(
          read.certificates.map(({ der }) => der),
          [certificate.der],
        );
      }),
      { numRuns: 50 },
    );
    assert.deepEqual(readOcspResponse(encodeOcspFailure("tryLater")), { status: 3, answers: [], certificates: [] });
  });

  it("is one that openssl verifies", () => {
    writeFileSync(inFolder("ca.pem"), encodePem("CERTIFICATE", certificate.der));
    const ca = inFolder("ca.pem");
    const asked = ["-issuer", ca, "-serial", "1", "-serial", "2", "-serial", "3"];
    execFileSync("openssl", ["ocsp", ...asked, "-no_nonce", "-reqout", inFolder("request.der")], { stdio: "pipe" });
    const { certificateIds } = parseOcspRequest(readFileSync(inFolder("request.der")));
    const statuses: CertificateStatus[] = [
      { type: "good" },
      { type: "revoked", revokedAt: now - 5000, reason: "superseded" },
      { type: "unknown" },
    ];
    const responses = certificateIds.map(({ der }, index) => ({
      certificateId: der,
      status: statuses[index] ?? { type: "unknown" as const },
    }));
    const times = { thisUpdate: now, nextUpdate: now + 60_000 };
    writeFileSync(inFolder("response.der"), signOcspResponse({ responses, ...times }, responder));
    const shown = execFileSync(
      "sh",
      [
        "-c",
        `openssl ocsp -issuer '${ca}' -serial 1 -serial 2 -serial 3 -no_nonce -respin '${inFolder("response.der")}' -CAfile '${ca}' 2>&1`,
      ],
      { encoding: "utf8" },
    );
    assert.match(shown, /Response verify OK/);
    assert.match(shown, /1: good\n/);
    assert.match(shown, /2: revoked\n[^]*Reason: superseded/);
    assert.match(shown, /3: unknown\n/);
  });
});
