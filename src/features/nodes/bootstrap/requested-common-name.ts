import { parseRequestField } from "../../../pki/certificate-request.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { PkiError } from "../../../pki/pki-error.ts";

/** A certificate request in a `spec.request`. Undefined for one that cannot be read: its validation says why. */
export function requestedCertificate(request: string): CertificateRequest | undefined {
  try {
    return parseRequestField(request);
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}

export const requestedCommonName = (request: string): string | undefined =>
  requestedCertificate(request)?.subject.commonName;
