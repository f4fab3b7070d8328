import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCertificateAuthority, signCertificate } from "../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificate, parseCertificates, serialNumberHex } from "../../../src/pki/certificates/certificate.ts";
import { encodeElement } from "../../../src/pki/der/der-writer.ts";
import { DerReader } from "../../../src/pki/der/der.ts";
import { runToEnd } from "../../../src/machinery/api/run-to-end.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { decodePemBlocks, encodePem } from "../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { findAnchorFaults } from "../../../src/pki/certificates/trust-anchors.ts";
import { validateCertificatesPem } from "../../../src/pki/certificates/validate-certificates-pem.ts";

const anchorFaults = (pem: string): string[] => runToEnd(findAnchorFaults(pem));
const certificatesFault = (pem: string | Uint8Array): string | undefined => runToEnd(validateCertificatesPem(pem));

const authorityOf = (commonName: string): ReturnType<typeof createCertificateAuthority> =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: Date.UTC(2020, 0, 1),
    notAfter: Date.UTC(2021, 0, 1),
  });
const first = authorityOf("first");
const second = authorityOf("second");
const leafDer = signCertificate(
  {
    subject: { commonName: "leaf" },
    publicKey: publicKeyInfoOf(generatePrivateKey("Ed25519")),
    notBefore: 0,
    notAfter: Date.UTC(2021, 0, 1),
    isCA: false,
    keyUsages: [],
    extendedKeyUsages: [],
    subjectAltNames: noSubjectAltNames,
  },
  first,
);
const ca1 = encodePem("CERTIFICATE", first.certificate.der);
const ca2 = encodePem("CERTIFICATE", second.certificate.der);
const leaf = encodePem("CERTIFICATE", leafDer);
const withHeader = (pem: string): string => pem.replace("-----\n", "-----\nComment: hello\n\n");
const garbage = encodePem("CERTIFICATE", Buffer.from("garbage"));

/** The same value with indefinite lengths at every level: BER that is not DER. */
function indefinite(der: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (const reader = new DerReader(der); !reader.isAtEnd;) {
    const { tag, content, bytes } = reader.readElement();
    parts.push(
      (tag & 0x20) === 0 ? bytes : Buffer.concat([Buffer.of(tag, 0x80), indefinite(content), Buffer.of(0, 0)]),
    );
  }
  return Buffer.concat(parts);
}

describe("validateTrustAnchors", () => {
  it("accepts CA certificates, also expired ones, with text around them", () => {
    assert.deepEqual(anchorFaults(ca1), []);
    assert.deepEqual(anchorFaults(`first\n${ca1}second\n${ca2}end`), []);
  });

  it("reports every bad entry by its index", () => {
    assert.deepEqual(anchorFaults(leaf + withHeader(ca1) + garbage + ca2 + ca2.replaceAll("CERTIFICATE", "OTHER")), [
      "entry 0 does not have the CA bit set",
      "entry 1 has PEM block headers",
      "entry 2 does not parse as X.509",
      "entry 4 has bad block type: OTHER",
    ]);
  });

  it("reports no more than a thousand bad entries", () => {
    assert.equal(anchorFaults(garbage.repeat(1001)).length, 1000);
  });

  it("reports a duplicate anchor, wherever it is in the text", () => {
    assert.deepEqual(anchorFaults(`${ca1}text\n${ca2}${ca1}`), ["duplicate trust anchor (indices [0 2])"]);
    assert.deepEqual(anchorFaults(ca1 + ca2 + ca2 + ca1 + ca1), [
      "duplicate trust anchor (indices [0 3 4])",
      "duplicate trust anchor (indices [1 2])",
    ]);
  });

  it("requires at least one", () => {
    for (const text of ["", "garbage", ca1.replaceAll("\n", "\n  ").replace("-----", "  -----"), `\ufeff${ca1}`]) {
      assert.deepEqual(anchorFaults(text), ["at least one trust anchor must be provided"]);
    }
  });

  it("does not accept two certificates in one block, nor BER", () => {
    const both = encodePem("CERTIFICATE", Buffer.concat([first.certificate.der, second.certificate.der]));
    assert.deepEqual(anchorFaults(both), ["entry 0 does not parse as X.509"]);
    const ber = encodePem("CERTIFICATE", indefinite(first.certificate.der));
    assert.deepEqual(anchorFaults(ber), ["entry 0 does not parse as X.509"]);
  });
});

describe("validateCertificatesPem", () => {
  it("accepts a certificate and its intermediates, with text around them", () => {
    for (const pem of [leaf, `${leaf}text\n${ca1}`, `text\n${leaf}`, leaf + leaf]) {
      assert.equal(certificatesFault(pem), undefined);
    }
  });

  it("accepts several certificates in one block, and BER", () => {
    assert.equal(
      certificatesFault(encodePem("CERTIFICATE", Buffer.concat([leafDer, first.certificate.der]))),
      undefined,
    );
    assert.equal(certificatesFault(encodePem("CERTIFICATE", indefinite(leafDer))), undefined);
  });

  it("reads BER of any number of values, and of pieces of a string", () => {
    const many = Buffer.alloc(400_000, Buffer.of(0x04, 0x00));
    for (const tag of [0x30, 0x24]) {
      const pem = encodePem("CERTIFICATE", Buffer.concat([Buffer.of(tag, 0x80), many, Buffer.of(0, 0)]));
      assert.equal(certificatesFault(pem), "x509: malformed certificate");
    }
  });

  it("names the fault of the first invalid block", () => {
    assert.equal(certificatesFault(""), "must contain at least one CERTIFICATE PEM block");
    assert.equal(certificatesFault(withHeader(leaf)), "no PEM block headers are permitted");
    assert.equal(
      certificatesFault(leaf + encodePem("EC PRIVATE KEY", Buffer.of(1))),
      'only CERTIFICATE PEM blocks are allowed, found "EC PRIVATE KEY"',
    );
    assert.equal(
      certificatesFault(encodePem("CERTIFICATE", Buffer.alloc(0))),
      "found CERTIFICATE PEM block containing 0 certificates",
    );
    assert.equal(certificatesFault(garbage), "x509: malformed certificate");
  });
});

describe("parseCertificate", () => {
  it("reads what was signed", () => {
    const certificate = parseCertificate(leafDer);
    assert.equal(certificate.subject.commonName, "leaf");
    assert.equal(certificate.issuer.commonName, "first");
    assert.equal(certificate.notBefore, 0);
    assert.deepEqual(certificate.authorityKeyId, first.certificate.subjectKeyId);
    assert.match(serialNumberHex(certificate), /^[4-7][0-9a-f]{39}$/);
    assert.equal(parseCertificatesPem(ca1 + leaf).length, 2);
  });

  it("refuses octets after the certificate", () => {
    assert.throws(() => parseCertificate(Buffer.concat([leafDer, Buffer.of(0)])), { message: "x509: trailing data" });
    assert.throws(() => parseCertificates(Buffer.concat([leafDer, Buffer.of(0)])), { name: "PkiError" });
  });

  it("refuses nested elements without end", () => {
    let nested: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 2000; depth++) nested = encodeElement(0x30, nested);
    assert.throws(() => parseCertificate(nested), { name: "PkiError" });
    assert.equal(certificatesFault(encodePem("CERTIFICATE", nested))?.startsWith("x509: malformed"), true);
  });

  it("keeps every octet of what it read", () => {
    assert.deepEqual(decodePemBlocks(leaf)[0]?.bytes, parseCertificate(leafDer).der);
  });
});
