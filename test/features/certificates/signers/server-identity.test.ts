import assert from "node:assert/strict";
import { it } from "node:test";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import type { SigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { serverIdentity, serverNameFaults } from "../../../../src/features/certificates/signers/server-identity.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificate } from "../../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import type { SubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { newAuthority, newCertificate, oneHour, startOf2026 } from "../../access/certificate-scene.ts";

const ca = newAuthority("ca");
const signer = rootSigningAuthority(ca);
const leafOf = (issuer: CertificateAuthority): Certificate => parseCertificate(newCertificate(issuer).raw);

/** Whether a signer refuses the server's name. `known` are the certificates that the server's clients have of it. */
const refuses = (
  authority: SigningAuthority,
  known: { readonly shown?: readonly Certificate[]; readonly trusted?: readonly Certificate[] },
): boolean => {
  const server = serverIdentity({ shown: [], trusted: [], hosts: ["api.example"], ...known });
  return serverNameFaults({ dnsNames: ["api.example"], ipAddresses: [] }, { authority, server }).length > 0;
};

it("a signer signs no name of the API server with a CA that the server's clients trust, however they came to know it", () => {
  const [other, root, sameName] = [newAuthority("other"), newAuthority("root"), newAuthority("ca")];
  const { privateKey } = ca;
  const times = { notBefore: startOf2026, notAfter: startOf2026 + oneHour };
  const sameKey = createCertificateAuthority({ subject: { commonName: "renamed" }, privateKey, ...times });
  assert.ok(refuses(signer, { shown: [leafOf(ca)] }), "it issued the server's certificate");
  const { authorityKeyId: _ofIssuer, ...withoutKeyId } = leafOf(ca);
  assert.ok(refuses(signer, { shown: [withoutKeyId] }), "it issued a certificate that does not say with which key");
  const { subjectKeyId: _own, ...namelessKey } = ca.certificate;
  assert.ok(
    refuses({ ...signer, certificate: namelessKey }, { shown: [leafOf(ca)] }),
    "it does not say which key it has",
  );
  assert.ok(refuses({ ...signer, anchors: [root.certificate] }, { shown: [leafOf(root)] }), "its root issued it");
  assert.ok(refuses(signer, { trusted: [ca.certificate] }), "they are configured with it");
  assert.ok(refuses(signer, { trusted: [sameKey.certificate] }), "they are configured with its key");
  assert.ok(!refuses(signer, { shown: [leafOf(other)], trusted: [other.certificate] }), "they know another");
  assert.ok(!refuses(signer, { shown: [leafOf(sameName)] }), "they know another of its name");
  const { authorityKeyId: _ofOther, ...withoutKeyIdOfOther } = leafOf(other);
  assert.ok(!refuses(signer, { shown: [withoutKeyIdOfOther] }), "they know another, which does not say its key");
});

it("the API server has the names of its certificate, and those with which its clients are configured", () => {
  const names = { ...noSubjectAltNames, dnsNames: ["shown.test"], ipAddresses: ["192.0.2.1"] };
  const namesOf = (subjectAltNames: SubjectAltNames, ...hosts: readonly string[]) => {
    const shown = parseCertificate(newCertificate(ca, { subject: { commonName: "common.test" }, subjectAltNames }).raw);
    return serverIdentity({ shown: [shown], trusted: [], hosts }).names;
  };
  assert.deepEqual(namesOf(names, "host.test", "192.0.2.2", "fd00::2"), {
    dnsNames: ["shown.test", "host.test"],
    ipAddresses: ["192.0.2.1", "192.0.2.2", "fd00::2"],
  });
  assert.deepEqual(
    namesOf({ ...names, dnsNames: [] }),
    { dnsNames: ["common.test"], ipAddresses: ["192.0.2.1"] },
    "curl takes a common name for a DNS name where there is none",
  );
  assert.deepEqual(serverIdentity({ shown: [], trusted: [], hosts: [] }).names, { dnsNames: [], ipAddresses: [] });
});
