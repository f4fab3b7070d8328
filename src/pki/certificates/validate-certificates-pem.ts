import { berToDer } from "../der/ber.ts";
import { readCertificate } from "./certificate.ts";
import { DerReader } from "../der/der.ts";
import { eachPemBlock } from "../pem.ts";
import { orPkiError, PkiError } from "../pki-error.ts";

/**
 * Validates a CertificateSigningRequest's `status.certificate`: at least one PEM block; every block is a `CERTIFICATE` without headers and
 * contains at least one BER certificate (RFC 5280 section 4). Text around blocks is allowed. Returns the fault in upstream's words, or
 * undefined. Yields before each certificate, because thousands of certificates take long.
 */
export function* validateCertificatesPem(pem: string | Uint8Array): Generator<undefined, string | undefined> {
  let count = 0;
  for (const { type, headers, bytes } of eachPemBlock(pem)) {
    count++;
    if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (headers.size > 0) return "no PEM block headers are permitted";
    if (bytes.length === 0) return "found CERTIFICATE PEM block containing 0 certificates";
    const fault = yield* certificatesFault(bytes);
    if (fault !== undefined) return fault;
  }
  return count === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
}

/** The fault of concatenated certificates. Tries DER first and reports its faults, because nearly all input is DER. */
function* certificatesFault(bytes: Buffer): Generator<undefined, string | undefined> {
  const faultOfDer = yield* parseFault(bytes);
  if (faultOfDer === undefined) return undefined;
  const der = orPkiError(() => berToDer(bytes));
  return der instanceof PkiError || (yield* parseFault(der)) !== undefined ? faultOfDer : undefined;
}

/** Why the bytes are not concatenated certificates, or undefined when they are. */
function* parseFault(der: Buffer): Generator<undefined, string | undefined> {
  const reader = new DerReader(der);
  while (!reader.isAtEnd) {
    yield;
    const certificate = orPkiError(() => readCertificate(reader));
    if (certificate instanceof PkiError) return certificate.message;
  }
  return undefined;
}
