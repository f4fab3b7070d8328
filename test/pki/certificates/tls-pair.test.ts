import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { describe, it } from "node:test";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import {
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeSetOf,
  encodeTagged,
} from "../../../src/pki/der/der-writer.ts";
import { tlsPairFault } from "../../../src/pki/certificates/tls-pair.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";

const pair = (keyType: Parameters<typeof generatePrivateKey>[0]): { certificate: string; key: string } => {
  const { certificate, privateKey } = createCertificateAuthority({
    subject: { commonName: "pair" },
    privateKey: generatePrivateKey(keyType),
    notBefore: Date.UTC(2026, 0, 1),
    notAfter: Date.UTC(2027, 0, 1),
  });
  return { certificate: encodePem("CERTIFICATE", certificate.der), key: encodePrivateKeyPem(privateKey) };
};
const [ecdsa, other, rsa, ed25519] = [pair("ECDSA P-256"), pair("ECDSA P-256"), pair("RSA 2048"), pair("Ed25519")];
const faultOf = (certificate: string, key: string): string | undefined =>
  tlsPairFault(Buffer.from(certificate), Buffer.from(key));

describe("a certificate and a key", () => {
  it("are a pair in every form of the key, whatever its label and whatever blocks are around", () => {
    for (const { certificate, key } of [ecdsa, rsa, ed25519]) assert.equal(faultOf(certificate, key), undefined);
    const relabelled = ecdsa.key.replaceAll("EC PRIVATE KEY", "PRIVATE KEY");
    assert.equal(faultOf(ecdsa.certificate + other.certificate, other.certificate + relabelled), undefined);
  });

  it("are no pair in Go's words", () => {
    const [certificates, keys] = [ecdsa.certificate, ecdsa.key];
    const damaged = encodePem("PRIVATE KEY", Buffer.from("damaged"));
    for (const [certificate, key, fault] of [
      ["x", keys, "tls: failed to find any PEM data in certificate input"],
      [certificates, "", "tls: failed to find any PEM data in key input"],
      [certificates, certificates, "tls: found a certificate rather than a key in the PEM for the private key"],
      [certificates, other.key, "tls: private key does not match public key"],
      [certificates, rsa.key, "tls: private key type does not match public key type"],
      [certificates, damaged, "tls: failed to parse private key"],
      [encodePem("CERTIFICATE", Buffer.from("damaged")), keys, "x509: malformed certificate"],
    ] as const) {
      assert.equal(faultOf(certificate, key), fault);
    }
    assert.match(faultOf(keys, keys) ?? "", /did find a private key; PEM inputs may have been switched$/);
    const blocks = encodePem("A", Buffer.alloc(1)) + encodePem("B", Buffer.alloc(1));
    assert.match(faultOf(blocks, keys) ?? "", /^tls: failed to find "CERTIFICATE" PEM block .* types: \[A B\]$/);
    assert.match(faultOf(certificates, blocks) ?? "", /^tls: failed to find PEM block with type ending .* \[A B\]$/);
  });

  it("are no pair when the key is larger than any that can be used", () => {
    const contents = createPrivateKey(ed25519.key).export({ format: "der", type: "pkcs8" }).subarray(2);
    /** With an attribute of so many bytes beside it, which OpenSSL reads over. */
    const keyWith = (bytes: number): string => {
      const values = encodeSetOf([encodeOctetString(Buffer.alloc(bytes))]);
      const attributes = encodeTagged(0, encodeSequence(encodeObjectIdentifier("1.2.3"), values));
      return encodePem("PRIVATE KEY", encodeSequence(contents, attributes));
    };
    assert.equal(faultOf(ed25519.certificate, keyWith(16_000)), undefined);
    assert.equal(faultOf(ed25519.certificate, keyWith(17_000)), "tls: failed to parse private key");
  });
});
