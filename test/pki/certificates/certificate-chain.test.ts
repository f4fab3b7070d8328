import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { describe, it } from "node:test";
import {
  createCertificateAuthority,
  loadCertificateAuthority,
  signCertificate,
} from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateTemplate } from "../../../src/pki/certificates/certificate-template.ts";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../src/pki/certificates/certificate.ts";
import { verifyChain } from "../../../src/pki/certificates/certificate-chain.ts";
import type { ChainInput } from "../../../src/pki/certificates/certificate-chain.ts";
import {
  encodeBitString,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
} from "../../../src/pki/der/der-writer.ts";
import { DerReader } from "../../../src/pki/der/der.ts";
import { parsePublicKeyInfo } from "../../../src/pki/keys/public-key.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { rsaPublicKeyInfo, rsaModulus } from "../keys/rsa-keys.ts";
import { withExtension } from "./with-extension.ts";

const now = Date.UTC(2026, 10, 21);
const day = 86_400_000;
const newRoot = (commonName: string): CertificateAuthority =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: now - day,
    notAfter: now + day,
  });
const root = createCertificateAuthority({
  subject: { commonName: "root" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: now - day,
  notAfter: now + 100 * day,
  maxPathLength: 1,
});

const template = (commonName: string, changes: Partial<CertificateTemplate> = {}): CertificateTemplate => ({
  subject: { commonName },
  publicKey: publicKeyInfoOf(leafKey),
  notBefore: now - day,
  notAfter: now + day,
  isCA: false,
  keyUsages: ["digitalSignature"],
  extendedKeyUsages: ["clientAuth"],
  subjectAltNames: { ...noSubjectAltNames, dnsNames: ["a.example.com"] },
  ...changes,
});
const leafKey = generatePrivateKey("ECDSA P-256");

const issue = (by: CertificateAuthority, commonName: string, changes: Partial<CertificateTemplate> = {}): Certificate =>
  parseCertificate(signCertificate(template(commonName, changes), by));

function intermediate(
  by: CertificateAuthority,
  commonName: string,
  changes: Partial<CertificateTemplate> = {},
): CertificateAuthority {
  const privateKey = generatePrivateKey("ECDSA P-256");
  const publicKey = publicKeyInfoOf(privateKey);
  const asCA = { publicKey, isCA: true, keyUsages: ["certSign"], extendedKeyUsages: [] } as const;
  return {
    privateKey,
    certificate: issue(by, commonName, { ...asCA, subjectAltNames: noSubjectAltNames, ...changes }),
  };
}

const reasonFor = (leaf: Certificate, changes: Partial<ChainInput> = {}): string => {
  const answer = verifyChain({
    leaf,
    intermediates: [],
    roots: [root.certificate],
    now,
    requiredUsage: "clientAuth",
    ...changes,
  });
  return answer.isValid ? answer.chain.map(({ subject }) => subject.commonName).join(" < ") : answer.reason;
};

describe("verifyChain", () => {
  it("finds the way to a root, whatever the order of the intermediates", () => {
    const middle = intermediate(root, "middle");
    const other = intermediate(root, "other");
    assert.equal(reasonFor(issue(root, "leaf")), "leaf < root");
    const leaf = issue(middle, "leaf");
    const intermediates = [other.certificate, middle.certificate];
    assert.equal(reasonFor(leaf, { intermediates }), "leaf < middle < root");
    assert.equal(reasonFor(leaf), "x509: certificate signed by unknown authority");
  });

  it("goes through a CA that kept its key under another name: that is no loop", () => {
    const top = newRoot("top");
    const before = intermediate(top, "before");
    const { publicKey } = before.certificate;
    const after = { ...before, certificate: intermediate(before, "after", { publicKey }).certificate };
    const intermediates = [before.certificate, after.certificate];
    assert.equal(
      reasonFor(issue(after, "leaf"), { intermediates, roots: [top.certificate] }),
      "leaf < after < before < top",
    );
  });

  it("does not trust an intermediate only because it was sent", () => {
    const stranger = newRoot("root");
    const reason = reasonFor(issue(stranger, "leaf"), { intermediates: [stranger.certificate] });
    assert.equal(reason, "x509: certificate signed by unknown authority");
  });

  it("trusts a certificate that is itself a root, among others", () => {
    const leaf = issue(intermediate(root, "middle"), "leaf");
    assert.equal(reasonFor(leaf, { roots: [root.certificate, leaf] }), "leaf");
  });

  it("takes as the issuer only who the certificate names, whoever has the same key", () => {
    const middle = intermediate(root, "middle");
    const namesake = issue(root, "another name", {
      publicKey: publicKeyInfoOf(middle.privateKey),
      isCA: true,
      keyUsages: ["certSign"],
    });
    const leaf = issue(middle, "leaf");
    assert.equal(reasonFor(leaf, { intermediates: [namesake] }), "x509: certificate signed by unknown authority");
    assert.equal(reasonFor(leaf, { intermediates: [namesake, middle.certificate] }), "leaf < middle < root");
  });

  it("needs neither key identifiers nor key usages", () => {
    const { authorityKeyId: _ofIssuer, ...leaf } = issue(root, "leaf");
    assert.equal(reasonFor(leaf), "leaf < root");
    const { keyUsages: _usages, ...freeRoot } = root.certificate;
    assert.equal(reasonFor(issue(root, "leaf"), { roots: [freeRoot] }), "leaf < root");
  });

  it("goes over a CA of the same name with a new key", () => {
    const renewed = intermediate(root, "root");
    const intermediates = [renewed.certificate];
    assert.equal(reasonFor(issue(renewed, "leaf"), { intermediates }), "leaf < root < root");
  });

  it("follows no circle of CAs that certify each other", () => {
    const circle = ["a", "b", "c"].map((name) => intermediate(root, name));
    const intermediates = circle.flatMap((issuer) =>
      circle
        .filter((subject) => subject !== issuer)
        .map(({ certificate, privateKey }) =>
          issue(issuer, certificate.subject.commonName, {
            publicKey: publicKeyInfoOf(privateKey),
            isCA: true,
            keyUsages: ["certSign"],
          }),
        ),
    );
    const [first] = circle;
    assert.ok(first);
    assert.equal(reasonFor(issue(first, "leaf"), { intermediates }), "x509: certificate signed by unknown authority");
  });

  it("finds chains of up to ten certificates", () => {
    const top = newRoot("top");
    const path = [top];
    for (const name of "abcdefghi") path.push(intermediate(path.at(-1) ?? top, name));
    const lengthBelow = (by: CertificateAuthority | undefined): number => {
      const intermediates = path.slice(1).map(({ certificate }) => certificate);
      const leaf = issue(by ?? top, "leaf");
      return reasonFor(leaf, { roots: [top.certificate], intermediates }).split(" < ").length;
    };
    assert.equal(lengthBelow(path[8]), 10);
    assert.equal(lengthBelow(path[9]), 1, "refused");
  });

  it("checks no signature with a key that no root has certified", () => {
    const asRoot = { subject: { commonName: "root" } };
    const strangers = [1, 2, 3].map(() => intermediate(root, "root", asRoot));
    const leaf = issue(strangers[0] ?? root, "leaf");
    const unused = ({ certificate }: CertificateAuthority): Certificate => ({
      ...certificate,
      signature: Buffer.alloc(64), // not the root's
      publicKey: {
        ...certificate.publicKey,
        get algorithm(): never {
          return assert.fail("a signature is checked with the key of a stranger");
        },
      },
    });
    const reason = reasonFor(leaf, { intermediates: strangers.map(unused) });
    assert.match(reason, /^x509: (ECDSA verification failure|certificate signed by unknown authority)$/);
  });

  it("refuses certificates before and after their time, at both ends of the chain", () => {
    const leaf = issue(root, "leaf");
    const expired = "x509: certificate has expired or is not yet valid";
    assert.equal(reasonFor(leaf, { now: now - 2 * day }), expired);
    assert.equal(reasonFor(leaf, { now: now + 2 * day }), expired);
    assert.equal(reasonFor(leaf, { now: leaf.notAfter }), "leaf < root");
    assert.equal(reasonFor(leaf, { now: leaf.notBefore }), "leaf < root");
    const middle = intermediate(root, "middle", { notAfter: now - 1000 });
    assert.equal(reasonFor(issue(middle, "leaf"), { intermediates: [middle.certificate] }), expired);
  });

  it("refuses an issuer that is no CA or may not sign certificates", () => {
    const cannotSign = "x509: invalid signature: parent certificate cannot sign this kind of certificate";
    for (const changes of [{ isCA: false }, { keyUsages: ["digitalSignature"] }] as const) {
      const middle = intermediate(root, "middle", changes);
      assert.equal(reasonFor(issue(middle, "leaf"), { intermediates: [middle.certificate] }), cannotSign);
    }
  });

  it("refuses more intermediates than a path length allows", () => {
    const first = intermediate(root, "first");
    const second = intermediate(first, "second");
    const intermediates = [first.certificate, second.certificate];
    assert.equal(
      reasonFor(issue(second, "leaf"), { intermediates }),
      "x509: too many intermediates for path length constraint",
    );
    assert.equal(reasonFor(issue(first, "leaf"), { intermediates }), "leaf < first < root");
  });

  it("requires the usage in every certificate that names usages", () => {
    const incompatible = "x509: certificate specifies an incompatible key usage";
    assert.equal(reasonFor(issue(root, "leaf"), { requiredUsage: "serverAuth" }), incompatible);
    assert.equal(reasonFor(issue(root, "leaf", { extendedKeyUsages: ["any"] })), "leaf < root");
    assert.equal(reasonFor(issue(root, "leaf", { extendedKeyUsages: [] })), "leaf < root");
    assert.equal(reasonFor(issue(root, "leaf"), { requiredUsage: "any" }), "leaf < root");
    const middle = intermediate(root, "middle", { extendedKeyUsages: ["serverAuth"] });
    assert.equal(reasonFor(issue(middle, "leaf"), { intermediates: [middle.certificate] }), incompatible);
  });

  it("refuses a critical extension that it does not understand", () => {
    const unknown = { id: "1.2.3.4", isCritical: true, value: Buffer.of(5, 0) };
    assert.equal(reasonFor(withExtension(issue(root, "leaf"), root, unknown)), "x509: unhandled critical extension");
    const harmless = { id: "1.2.3.4", isCritical: false, value: Buffer.of(5, 0) };
    assert.equal(reasonFor(withExtension(issue(root, "leaf"), root, harmless)), "leaf < root");
  });

  it("holds a CA to its name constraints", () => {
    const domain = (name: string): Buffer => encodeSequence(encodeElement(0x82, Buffer.from(name)));
    const constrained = (value: Buffer): CertificateAuthority => {
      const middle = intermediate(root, "middle");
      const extension = { id: oids.nameConstraints, isCritical: true, value };
      return { ...middle, certificate: withExtension(middle.certificate, root, extension) };
    };
    const permitted = constrained(encodeSequence(encodeElement(0xa0, domain("example.com"))));
    const excluded = constrained(encodeSequence(encodeElement(0xa1, domain("a.example.com"))));
    const directory = constrained(encodeSequence(encodeElement(0xa0, encodeSequence(encodeElement(0xa4)))));
    const leafOf = (by: CertificateAuthority, name: string): string =>
      reasonFor(issue(by, "leaf", { subjectAltNames: { ...noSubjectAltNames, dnsNames: [name] } }), {
        intermediates: [by.certificate],
      });
    assert.equal(leafOf(permitted, "b.example.com"), "leaf < middle < root");
    assert.match(leafOf(permitted, "example.org"), /not permitted/);
    assert.match(leafOf(permitted, "notexample.com"), /not permitted/);
    assert.match(leafOf(excluded, "x.a.example.com"), /excluded/);
    assert.equal(leafOf(excluded, "b.example.com"), "leaf < middle < root");
    assert.equal(leafOf(directory, "b.example.com"), "x509: unhandled critical extension");
  });

  it("refuses a leaf whose key anyone can sign with, or that is too large", () => {
    const leafWith = (modulus: bigint, exponent: bigint): string =>
      reasonFor(issue(root, "leaf", { publicKey: parsePublicKeyInfo(rsaPublicKeyInfo(modulus, exponent)) }));
    assert.match(leafWith(rsaModulus(2048), 1n), /exponent too small/);
    assert.match(leafWith(rsaModulus(2048), 2n), /exponent is even/);
    assert.match(leafWith(rsaModulus(8193), 3n), /more than 8192 bits/);
    assert.equal(leafWith(rsaModulus(2048), 3n), "leaf < root");
  });

  it("refuses a certificate that is signed over a SHA-1 hash", () => {
    const signed = (id: string, hash: string): Certificate => {
      const parts: Buffer[] = [];
      const reader = new DerReader(new DerReader(issue(root, "leaf").tbsCertificate).readElement().content);
      while (!reader.isAtEnd) parts.push(reader.readElement().bytes);
      const algorithm = encodeSequence(encodeObjectIdentifier(id));
      parts[2] = algorithm; // after version and serialNumber (RFC 5280 section 4.1)
      const tbs = encodeSequence(...parts);
      return parseCertificate(encodeSequence(tbs, algorithm, encodeBitString(sign(hash, tbs, root.privateKey))));
    };
    assert.equal(reasonFor(signed(oids.ecdsaWithSha256, "sha256")), "leaf < root");
    assert.match(reasonFor(signed(oids.ecdsaWithSha1, "sha1")), /insecure algorithm ECDSA-SHA1/);
  });

  it("gives up on many issuers with the same name", () => {
    const crowd = Array.from({ length: 300 }, () => newRoot("crowd"));
    const [first] = crowd;
    assert.ok(first);
    // Without an authority key identifier every one of them could be the issuer.
    const leaf = { ...issue(first, "leaf"), authorityKeyId: Buffer.alloc(0) };
    const intermediates = crowd.map(({ certificate }) => ({ ...certificate, subjectKeyId: Buffer.alloc(0) }));
    assert.match(reasonFor(leaf, { intermediates: intermediates.toReversed() }), /attempts limit reached/);
  });
});

describe("createCertificateAuthority", () => {
  it("makes a CA whose key signs and enciphers nothing: an elliptic curve's must not (RFC 8813 section 3)", () => {
    assert.deepEqual(root.certificate.keyUsages, ["digitalSignature", "certSign", "crlSign"]);
  });
});

describe("loadCertificateAuthority", () => {
  const certificate = encodePem("CERTIFICATE", root.certificate.der);
  const privateKey = encodePrivateKeyPem(root.privateKey);

  it("reads PKCS #8 and SEC 1 keys", () => {
    const sec1 = root.privateKey.export({ format: "pem", type: "sec1" });
    for (const key of [privateKey, sec1, `text\n${certificate}${sec1}`]) {
      assert.deepEqual(loadCertificateAuthority({ certificate, privateKey: key }).certificate, root.certificate);
    }
  });

  it("refuses a key of another certificate, and a certificate that is not a CA", () => {
    const otherKey = encodePrivateKeyPem(leafKey);
    assert.throws(() => loadCertificateAuthority({ certificate, privateKey: otherKey }), /does not belong/);
    const leaf = encodePem("CERTIFICATE", issue(root, "leaf").der);
    assert.throws(
      () => loadCertificateAuthority({ certificate: leaf, privateKey: otherKey }),
      /is not a CA certificate/,
    );
  });

  it("refuses a CA whose key is too small to rely on", () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 512 });
    const small = createCertificateAuthority({
      subject: { commonName: "small" },
      privateKey,
      notBefore: now,
      notAfter: now + day,
    });
    const certificate = encodePem("CERTIFICATE", small.certificate.der);
    assert.throws(
      () => loadCertificateAuthority({ certificate, privateKey: encodePrivateKeyPem(privateKey) }),
      /512-bit keys are insecure/,
    );
  });

  it("refuses a CA whose key cannot sign here, such as one on P-224, or whose subject is empty", () => {
    const loading = (privateKey: KeyObject, changes: Partial<CertificateTemplate> = {}): (() => unknown) => {
      const ca = intermediate(root, "CA", { publicKey: publicKeyInfoOf(privateKey), ...changes }).certificate;
      const pem = { certificate: encodePem("CERTIFICATE", ca.der), privateKey: encodePrivateKeyPem(privateKey) };
      return () => loadCertificateAuthority(pem);
    };
    const onP224 = generateKeyPairSync("ec", { namedCurve: "P-224" }).privateKey;
    assert.throws(loading(onP224), /only RSA, P-256, P-384, P-521 and Ed25519 keys can sign here/);
    assert.throws(loading(leafKey, { subject: {} }), /its subject is empty/);
    assert.doesNotThrow(loading(leafKey));
  });

  it("reports no fault of a key that it cannot parse", () => {
    const broken = encodePem("PRIVATE KEY", Buffer.from("top secret"));
    assert.throws(() => loadCertificateAuthority({ certificate, privateKey: broken }), {
      message: "data does not contain a valid RSA, ECDSA or Ed25519 private key",
    });
    assert.throws(() => loadCertificateAuthority({ certificate: "", privateKey }), /holds no certificate/);
  });
});
