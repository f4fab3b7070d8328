import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadSigningAuthority } from "../../../src/features/certificates/authorities/signing-authority.ts";
import { usageFaults } from "../../../src/features/certificates/signers/issue.ts";
import { validityFault } from "../../../src/pki/certificates/authority-path.ts";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateTemplate } from "../../../src/pki/certificates/certificate-template.ts";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import { encodeSequence } from "../../../src/pki/der/der-writer.ts";
import { encodePrivateKeyPem, generatePrivateKey, keyIdentifier } from "../../../src/pki/keys/keys.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { intermediateOf } from "../../features/certificates/certificate-loop-scene.ts";
import { withExtension } from "./with-extension.ts";

const day = 86_400_000;
const now = Date.UTC(2026, 10, 22);
const rootNamed = (commonName: string, maxPathLength?: number): CertificateAuthority =>
  createCertificateAuthority({
    ...{ subject: { commonName }, privateKey: generatePrivateKey("ECDSA P-256") },
    ...{ notBefore: now - 10 * day, notAfter: now + 100 * day },
    ...(maxPathLength !== undefined && { maxPathLength }),
  });

const below = (by: CertificateAuthority, commonName: string, changes: Partial<CertificateTemplate> = {}) =>
  intermediateOf(by, commonName, { maxPathLength: 0, notBefore: now - day, notAfter: now + day, ...changes });

/** What a file with these certificates, and the key of one of them, is. */
const load = (key: CertificateAuthority, ...file: readonly CertificateAuthority[]) =>
  loadSigningAuthority({
    certificate: file.map(({ certificate }) => encodePem("CERTIFICATE", certificate.der)).join(""),
    privateKey: encodePrivateKeyPem(key.privateKey),
  });
const namesOf = (certificates: readonly { readonly subject: { readonly commonName: string } }[]): string =>
  certificates.map(({ subject }) => subject.commonName).join(" < ");

describe("the file of a CA below an offline root", () => {
  const root = rootNamed("root", 2);
  const policy = below(root, "policy", { maxPathLength: 1 });
  const online = below(policy, "online");

  it("is a path to the root, in whatever order the issuers are, and clients get the part below the root", () => {
    for (const file of [
      [online, policy, root],
      [online, root, policy],
    ]) {
      const authority = load(online, ...file);
      assert.equal(namesOf(authority.path), "online < policy < root");
      assert.equal(namesOf(authority.anchors), "root");
      const handedOut = [online, policy].map(({ certificate }) => encodePem("CERTIFICATE", certificate.der));
      assert.equal(authority.chainPem, handedOut.join(""));
    }
  });

  it("publishes its highest CA when the root is omitted, and a future root beside it", () => {
    assert.equal(namesOf(load(online, online, policy).anchors), "policy");
    // Of the same name, and with another key: it is not the issuer.
    assert.equal(namesOf(load(policy, policy, rootNamed("root"), root).path), "policy < root");
    assert.equal(namesOf(load(policy, policy, root, rootNamed("next")).anchors), "root < next");
    assert.equal(namesOf(load(policy, policy, rootNamed("root")).anchors), "policy < root");
  });

  it("ends where two CAs certify each other", () => {
    const [one, other] = [rootNamed("one"), rootNamed("other")];
    const signedBy = (issuer: CertificateAuthority, { certificate, privateKey }: CertificateAuthority) => ({
      ...below(issuer, certificate.subject.commonName, { publicKey: certificate.publicKey, maxPathLength: 9 }),
      privateKey,
    });
    const lowest = below(one, "lowest");
    assert.equal(
      namesOf(load(lowest, lowest, signedBy(other, one), signedBy(one, other)).path),
      "lowest < one < other",
    );
  });

  it("goes up by names, not by keys alone", () => {
    const sameKey = below(root, "another name", { publicKey: policy.certificate.publicKey, maxPathLength: 1 });
    assert.equal(namesOf(load(online, online, sameKey).path), "online");
    assert.equal(namesOf(load(online, online, sameKey, policy, root).path), "online < policy < root");
  });

  it("is refused with an issuer of the right name and key identifier that did not sign", () => {
    const stranger = below(root, "policy", { maxPathLength: 1 });
    const der = Buffer.from(stranger.certificate.der);
    der.set(keyIdentifier(policy.certificate.publicKey), der.indexOf(keyIdentifier(stranger.certificate.publicKey)));
    const forged = { ...stranger, certificate: parseCertificate(der) };
    assert.throws(
      () => load(online, online, forged),
      /^PkiError: certificate 2 \(CN=policy\) did not issue certificate 1 \(CN=online\): x509: ECDSA verification failure; put/,
    );
    assert.equal(namesOf(load(online, online, forged, policy).path), "online < policy");
  });

  it("is refused with the certificate that is wrong, and with what to do", () => {
    const narrow = rootNamed("narrow", 0);
    const cases = [
      [() => load(online, root, policy, online), /^the private key belongs to certificate 3 \(CN=online\): put that/],
      [() => load(root, online), /private key does not belong to its certificate/],
    ] as const;
    for (const [attempt, message] of cases) assert.throws(attempt, { name: "PkiError", message });

    const middle = below(narrow, "middle");
    const lowest = below(middle, "lowest");
    assert.throws(
      () => load(lowest, lowest, middle),
      /^PkiError: certificate 2 \(CN=middle\) has the path length 0, but 1 CAs/,
    );
    assert.throws(() => load(middle, middle, narrow), /certificate 2 \(CN=narrow\) has the path length 0/);
    for (const [changes, message] of [
      [{ isCA: false }, /it is not a CA certificate/],
      [{ keyUsages: ["crlSign"] }, /may not sign certificates/],
    ] as const) {
      const weak = below(root, "weak", changes);
      assert.throws(() => load(weak, weak, root), message);
      const child = below(weak, "child");
      assert.throws(
        () => load(child, child, weak),
        /certificate 2 \(CN=weak\) did not issue certificate 1 \(CN=child\): /,
      );
    }
  });

  it("is refused with a critical extension that no client knows, in any CA of the path", () => {
    const critical = (id: string) => {
      const extension = { id, isCritical: true, value: encodeSequence() };
      return { ...policy, certificate: withExtension(policy.certificate, root, extension) };
    };
    const message = /^PkiError: certificate \d \(CN=policy\) has the critical extension 1\.2\.3\.4, so clients refuse/;
    const odd = critical("1.2.3.4");
    assert.throws(() => load(policy, odd, root), message);
    assert.throws(() => load(online, online, odd), message);
    // The last is Netscape's: OpenSSL knows it, and Go does not.
    for (const known of [oids.policyMappings, oids.netscapeCertificateType]) {
      assert.equal(namesOf(load(online, online, critical(known), root).path), "online < policy < root");
    }
  });

  it("says which certificate is not valid at a time", () => {
    const { path } = load(online, online, policy, root);
    // The first and the last moment are part of a validity (RFC 5280 section 4.1.2.5).
    for (const moment of [now - day, now, now + day]) assert.equal(validityFault(path, moment), undefined);
    assert.match(validityFault(path, now + 2 * day) ?? "", /^certificate 1 \(CN=online\) ended at .*Z: renew it$/);
    assert.match(validityFault(path, now - 2 * day) ?? "", /^certificate 1 \(CN=online\) begins only at .*Z: wait, or/);
    const short = below(root, "short", { notAfter: now + 3 * day });
    assert.match(
      validityFault([root.certificate, short.certificate], now + 4 * day) ?? "",
      /^certificate 2 \(CN=short\)/,
    );
  });

  it("allows no usage that a CA above does not have", () => {
    const serving = below(root, "serving", { extendedKeyUsages: ["serverAuth"] });
    const { path } = load(serving, serving, root);
    assert.deepEqual(usageFaults(["digital signature", "server auth"], path), []);
    assert.match(usageFaults(["client auth"], path).join(), /of the CA do not include clientAuth/);
  });
});
