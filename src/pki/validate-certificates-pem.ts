import { berToDer } from "./ber.ts";
import { parseCertificates } from "./certificate.ts";
import { decodePemBlocks } from "./pem.ts";
import { PkiError } from "./pki-error.ts";

/**
 * Validates a CertificateSigningRequest's `status.certificate`: at least one PEM block; every block is a `CERTIFICATE`
 * without headers and holds at least one BER certificate (RFC 5280 section 4). Text around blocks is allowed. Returns
 * the fault in upstream's words, or undefined.
 */
export function validateCertificatesPem(pem: string | Uint8Array): string | undefined {
  const blocks = decodePemBlocks(pem);
  if (blocks.length === 0) return "must contain at least one CERTIFICATE PEM block";
  for (const { type, headers, bytes } of blocks) {
    if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (headers.size > 0) return "no PEM block headers are permitted";
    if (bytes.length === 0) return "found CERTIFICATE PEM block containing 0 certificates";
    const fault = certificatesFault(bytes);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Tries DER first: nearly all input is DER, so its faults are the ones to report. */
function certificatesFault(bytes: Buffer): string | undefined {
  try {
    parseCertificates(bytes);
    return undefined;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return isBerCertificates(bytes) ? undefined : error.message;
  }
}

function isBerCertificates(bytes: Buffer): boolean {
  try {
    return parseCertificates(berToDer(bytes)).length > 0;
  } catch (error) {
    if (error instanceof PkiError) return false;
    throw error;
  }
}
