import assert from "node:assert/strict";
import { it } from "node:test";
import { encodePrivateKeyPem, generatePrivateKey, parsePrivateKeyPem } from "../../../src/pki/keys/keys.ts";

it("private keys are written in the form that every tool reads, and read back", () => {
  const labels = {
    "ECDSA P-256": "EC PRIVATE KEY",
    "ECDSA P-384": "EC PRIVATE KEY",
    "RSA 2048": "RSA PRIVATE KEY",
    Ed25519: "PRIVATE KEY",
  } as const;
  for (const type of ["ECDSA P-256", "ECDSA P-384", "RSA 2048", "Ed25519"] as const) {
    const key = generatePrivateKey(type);
    const pem = encodePrivateKeyPem(key);
    assert.equal(pem.split("\n")[0], `-----BEGIN ${labels[type]}-----`);
    assert.ok(parsePrivateKeyPem(pem).equals(key));
  }
});

it("an encrypted private key is refused as encrypted, in PKCS #8 and in OpenSSL's old form", () => {
  const key = generatePrivateKey("ECDSA P-256");
  for (const type of ["pkcs8", "sec1"] as const) {
    const pem = key.export({ type, format: "pem", cipher: "aes-256-cbc", passphrase: "secret" });
    assert.throws(() => parsePrivateKeyPem(pem), /the private key is encrypted: write it without its password/);
  }
});
