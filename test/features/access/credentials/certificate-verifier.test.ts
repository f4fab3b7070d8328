import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { createCertificateVerifier } from "../../../../src/features/access/credentials/certificate-verifier.ts";
import { parseCertificate } from "../../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../../src/pki/keys/keys.ts";
import { newAuthority, newCertificate, oneHour, startOf2026 } from "../certificate-scene.ts";

const authority = newAuthority("ca");
const other = newAuthority("other");

function scene() {
  const time = { now: startOf2026 };
  let roots: readonly Certificate[] = [authority.certificate];
  const verify = createCertificateVerifier({ roots: () => roots, clock: { now: () => time.now } });
  return {
    time,
    trust: (...list: readonly Certificate[]): void => void (roots = list),
    reasonFor: (connection: readonly X509Certificate[]): string => {
      const answer = verify(connection);
      return answer.isTrusted ? "trusted" : answer.reason;
    },
  };
}

describe("the certificate of a client", () => {
  it("is trusted when a root has certified it, directly or through certificates that the client sends", () => {
    const { reasonFor } = scene();
    assert.equal(reasonFor([newCertificate(authority)]), "trusted");
    assert.notEqual(reasonFor([newCertificate(other)]), "trusted");
    assert.notEqual(reasonFor([newCertificate(other), newCertificate(authority)]), "trusted");
  });

  it("may come with the eight CAs between it and a root, and with no more", () => {
    const { reasonFor } = scene();
    let issuer = authority;
    const sent: X509Certificate[] = [];
    for (let number = 1; number <= 9; number++) {
      const privateKey = generatePrivateKey("ECDSA P-256");
      const publicKey = publicKeyInfoOf(privateKey);
      const subject = { commonName: `ca ${number}` };
      const made = newCertificate(issuer, {
        subject,
        publicKey,
        isCA: true,
        keyUsages: ["certSign"],
        extendedKeyUsages: [],
      });
      sent.unshift(made);
      issuer = { certificate: parseCertificate(made.raw), privateKey };
      if (number >= 8) {
        const isTrusted = reasonFor([newCertificate(issuer), ...sent]) === "trusted";
        assert.equal(isTrusted, number === 8, String(number));
      }
    }
  });

  it("has its CA among the first eight certificates after it: later ones are not read", () => {
    const { reasonFor } = scene();
    const privateKey = generatePrivateKey("ECDSA P-256");
    const made = newCertificate(authority, {
      publicKey: publicKeyInfoOf(privateKey),
      isCA: true,
      keyUsages: ["certSign"],
    });
    const leaf = newCertificate({ certificate: parseCertificate(made.raw), privateKey });
    const unrelated = new X509Certificate(other.certificate.der);
    const sent = (place: number): X509Certificate[] => [
      leaf,
      ...Array.from({ length: place - 1 }, () => unrelated),
      made,
    ];
    assert.equal(reasonFor(sent(8)), "trusted");
    assert.notEqual(reasonFor(sent(9)), "trusted");
  });

  it("is not a CA's, and is for clients", () => {
    const { reasonFor } = scene();
    const asCA = { isCA: true, keyUsages: ["certSign"] } as const;
    assert.match(reasonFor([newCertificate(authority, asCA)]), /a CA certificate cannot authenticate a client/);
    for (const extendedKeyUsages of [[], ["serverAuth"]] as const) {
      assert.match(reasonFor([newCertificate(authority, { extendedKeyUsages })]), /incompatible key usage/);
    }
    for (const extendedKeyUsages of [["serverAuth", "clientAuth"], ["any"]] as const) {
      assert.equal(reasonFor([newCertificate(authority, { extendedKeyUsages })]), "trusted");
    }
  });

  it("is refused from its end on, also on a connection that it has opened before", () => {
    const { time, reasonFor } = scene();
    const connection = [newCertificate(authority)];
    time.now = startOf2026 + oneHour;
    assert.equal(reasonFor(connection), "trusted");
    time.now += 1;
    assert.match(reasonFor(connection), /expired/);
    time.now = startOf2026 - oneHour - 1;
    assert.match(reasonFor(connection), /not yet valid/);
    time.now = startOf2026;
    assert.equal(reasonFor(connection), "trusted");
    time.now = startOf2026 - oneHour - 1;
    assert.match(reasonFor(connection), /not yet valid/);
  });

  it("is refused when only OpenSSL can read it", () => {
    const der = Buffer.from(newCertificate(authority).raw);
    const ecdsaWithSha256 = Buffer.from("2a8648ce3d040302", "hex");
    der.writeUInt8(3, der.lastIndexOf(ecdsaWithSha256) + 7); // the outer algorithm becomes ecdsa-with-SHA384
    assert.match(scene().reasonFor([new X509Certificate(der)]), /algorithm identifiers don't match/);
  });

  it("is refused from the end of its CA on", () => {
    const { time, reasonFor } = scene();
    const connection = [newCertificate(authority, { notAfter: startOf2026 + 9 * oneHour })];
    assert.equal(reasonFor(connection), "trusted");
    time.now = startOf2026 + 5 * oneHour + 1;
    assert.notEqual(reasonFor(connection), "trusted");
  });

  it("is refused as soon as its root is trusted no longer, and trusted as soon as it is", () => {
    const { trust, reasonFor } = scene();
    const connection = [newCertificate(authority)];
    assert.equal(reasonFor(connection), "trusted");
    trust(other.certificate);
    assert.notEqual(reasonFor(connection), "trusted");
    trust(other.certificate, authority.certificate);
    assert.equal(reasonFor(connection), "trusted");
    trust();
    assert.notEqual(reasonFor(connection), "trusted");
    trust(parseCertificate(authority.certificate.der));
    assert.equal(reasonFor(connection), "trusted");
    trust(other.certificate, authority.certificate);
    assert.equal(reasonFor(connection), "trusted");
    trust(other.certificate, newAuthority("third").certificate);
    assert.notEqual(reasonFor(connection), "trusted");
  });
});
