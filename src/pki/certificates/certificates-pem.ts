import { parseCertificate } from "./certificate.ts";
import type { Certificate } from "./certificate.ts";
import { decodePemBlocks, encodePem } from "../pem.ts";

/** The content of the `CERTIFICATE` blocks of a PEM text, in their order. It is not parsed. */
export const certificateBlocks = (pem: string | Uint8Array): Buffer[] =>
  decodePemBlocks(pem).flatMap(({ type, bytes }) => (type === "CERTIFICATE" ? [bytes] : []));

/** Parses the `CERTIFICATE` blocks of a PEM text. Throws PkiError when one of them is not a certificate. */
export const parseCertificatesPem = (pem: string | Uint8Array): Certificate[] =>
  certificateBlocks(pem).map((der) => parseCertificate(der));

/** Encodes certificates as PEM, one block each, in their order and with nothing between them. */
export const encodeCertificatesPem = (certificates: readonly Pick<Certificate, "der">[]): string =>
  certificates.map(({ der }) => encodePem("CERTIFICATE", der)).join("");
