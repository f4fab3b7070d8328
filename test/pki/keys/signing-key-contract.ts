import assert from "node:assert/strict";
import { createPublicKey, verify, X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import {
  signCertificateWith,
  createCertificateAuthority,
} from "../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { signatureSchemeFor } from "../../../src/pki/keys/sign.ts";
import type { SigningKey } from "../../../src/pki/keys/signing-key.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";

/** What holds for a key wherever it is. */
export function testSigningKey(name: string, open: () => Promise<SigningKey> | SigningKey): void {
  describe(`the signing key ${name}`, () => {
    const publicKeyOf = ({ publicKey }: SigningKey) =>
      createPublicKey({ key: publicKey.spki, format: "der", type: "spki" });

    it("signs what its public key verifies, many at once, in the form of tokens", async () => {
      const key = await open();
      const { hash } = signatureSchemeFor(key.publicKey);
      const verifier = { key: publicKeyOf(key), dsaEncoding: "ieee-p1363" as const };
      const texts = Array.from({ length: 20 }, (_, index) => Buffer.from(`text ${index}`));
      const signatures = await Promise.all(texts.map(async (text) => key.sign(text)));
      assert.ok(signatures.every((signature, index) => verify(hash, texts[index] ?? "", verifier, signature)));
      assert.ok(!verify(hash, "another text", verifier, signatures[0] ?? Buffer.alloc(0)));
    });

    it("signs certificates that others verify", async () => {
      const key = await open();
      const now = Date.now();
      const times = { notBefore: now - 60_000, notAfter: now + 3_600_000 };
      const subject = { commonName: "contract" };
      // Any certificate with the key: the issuer's own signature does not matter here.
      const made = createCertificateAuthority({ subject, privateKey: generatePrivateKey("ECDSA P-256"), ...times });
      const issuer = { ...made.certificate, publicKey: key.publicKey };
      const template = {
        ...times,
        subject: { commonName: "leaf" },
        publicKey: publicKeyInfoOf(generatePrivateKey("Ed25519")),
        isCA: false,
        keyUsages: ["digitalSignature"],
        extendedKeyUsages: ["clientAuth"],
        subjectAltNames: noSubjectAltNames,
      } as const;
      const der = await signCertificateWith(template, { certificate: issuer, privateKey: key });
      assert.equal(parseCertificate(der).subject.commonName, "leaf");
      assert.ok(new X509Certificate(der).verify(publicKeyOf(key)));
    });
  });
}
