import { X509Certificate } from "node:crypto";
import { createCertificateAuthority, signCertificate } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateTemplate } from "../../../src/pki/certificates/certificate-template.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import type { Headers, HttpRequest } from "../../../src/machinery/api/http-message.ts";

export const startOf2026 = Date.parse("2026-01-01T00:00:00Z");
export const oneHour = 3_600_000;

/** A CA that is valid for ten hours around the start of 2026. */
export const newAuthority = (commonName: string, notAfter = startOf2026 + 5 * oneHour): CertificateAuthority =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: startOf2026 - 5 * oneHour,
    notAfter,
  });

/**
 * A client certificate of alice (groups dev and ops), valid for two hours around the start of 2026. A test may change
 * any part.
 */
export function newCertificate(
  authority: CertificateAuthority,
  bent: Partial<CertificateTemplate> = {},
): X509Certificate {
  const template: CertificateTemplate = {
    subject: { commonName: "alice", organizations: ["dev", "ops"] },
    publicKey: publicKeyInfoOf(generatePrivateKey("ECDSA P-256")),
    notBefore: startOf2026 - oneHour,
    notAfter: startOf2026 + oneHour,
    isCA: false,
    keyUsages: ["digitalSignature"],
    extendedKeyUsages: ["clientAuth"],
    subjectAltNames: noSubjectAltNames,
    ...bent,
  };
  return new X509Certificate(signCertificate(template, authority));
}

export const request = (headers: Headers = {}, peerCertificates: readonly X509Certificate[] = []): HttpRequest => ({
  method: "GET",
  path: "/",
  query: "",
  headers,
  connection: { remoteAddress: "127.0.0.1", peerCertificates },
  readBody: async () => Buffer.alloc(0),
  signal: new AbortController().signal,
});
