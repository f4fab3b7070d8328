import { parseCertificateRequestPem } from "./certificate-request.ts";
import type { CertificateRequest } from "./certificate-request.ts";
import { RecentTexts } from "./recent-texts.ts";

const recent = new RecentTexts<CertificateRequest>();

/**
 * Parses the `spec.request` of a CertificateSigningRequest: a PEM file in base64. Admission, validation, approval and
 * signing read the same text one after the other, so the last ones are remembered. Throws PkiError.
 */
export const parseRequestField = (base64: string): CertificateRequest =>
  recent.get(base64) ?? recent.add(base64, parseCertificateRequestPem(Buffer.from(base64, "base64")));
