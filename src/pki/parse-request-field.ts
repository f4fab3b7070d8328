import { parseCertificateRequestPem } from "./certificate-request.ts";
import type { CertificateRequest } from "./certificate-request.ts";

/** Requests whose text is longer are parsed each time: the memory has a bound in bytes too. */
const longestText = 8192;
const maximumTexts = 64;
const recent = new Map<string, CertificateRequest>();

/**
 * Parses the `spec.request` of a CertificateSigningRequest: a PEM file in base64. Admission, validation, approval and
 * signing read the same text one after the other, so the last 64 are remembered. Throws PkiError.
 */
export function parseRequestField(base64: string): CertificateRequest {
  const known = recent.get(base64);
  if (known !== undefined) return known;
  const request = parseCertificateRequestPem(Buffer.from(base64, "base64"));
  if (base64.length > longestText) return request;
  if (recent.size >= maximumTexts) {
    const [oldest = ""] = recent.keys();
    recent.delete(oldest);
  }
  recent.set(base64, request);
  return request;
}
