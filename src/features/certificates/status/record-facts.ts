import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import type { CertificateFacts } from "../../revocation/index.ts";

/** What the inventory knows of a certificate, as revocations name it. */
export const recordFacts = ({ spec }: IssuedCertificate): CertificateFacts => ({
  fingerprint: spec.fingerprint,
  serialNumber: spec.serialNumber,
  issuer: spec.issuer ?? "",
  subject: spec.subject ?? "",
  notBefore: Date.parse(spec.notBefore),
});
