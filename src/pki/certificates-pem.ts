import { parseCertificate } from "./certificate.ts";
import type { Certificate } from "./certificate.ts";
import { decodePemBlocks, encodePem } from "./pem.ts";

/**
 * Parses the certificates of a PEM text and skips blocks of other types. Throws PkiError when a certificate does not
 * parse.
 */
export const parseCertificatesPem = (pem: string | Uint8Array): Certificate[] =>
  decodePemBlocks(pem)
    .filter(({ type }) => type === "CERTIFICATE")
    .map(({ bytes }) => parseCertificate(bytes));

/** Certificates as PEM, one block each, in their order and with nothing between them. */
export const encodeCertificatesPem = (certificates: readonly Pick<Certificate, "der">[]): string =>
  certificates.map(({ der }) => encodePem("CERTIFICATE", der)).join("");
