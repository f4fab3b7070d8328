import { createHash } from "node:crypto";
import { fingerprintOf } from "../certificates/certificate.ts";
import type { Certificate } from "../certificates/certificate.ts";
import { PkiError } from "../pki-error.ts";

/** Certificates that programs trust, for a store without keys. */
export interface TrustStore {
  /** Without duplicates. Their order does not matter. */
  readonly certificates: readonly Certificate[];
  /** Visible ASCII characters. The password only protects the store from accidents, because certificates are public. */
  readonly password: string;
}

export interface TrustedEntry {
  /** The name by which people find the certificate, unique in the store. */
  readonly alias: string;
  readonly certificate: Certificate;
}

/**
 * The entries of a store. The same certificates result in the same entries in the same order, whatever the order of the certificates is.
 * Throws PkiError for a certificate without a subject or an issuer (RFC 5280 4.1.2.4 and 4.1.2.6), because Java could not read the whole
 * store.
 */
export const trustedEntries = ({ certificates }: Pick<TrustStore, "certificates">): TrustedEntry[] =>
  certificates
    .map((certificate) => ({ fingerprint: fingerprintOf(certificate), certificate }))
    .toSorted((one, other) => (one.fingerprint < other.fingerprint ? -1 : 1))
    .map(({ fingerprint, certificate }) => {
      const { subject, issuer } = certificate;
      if (subject.relativeNames.length > 0 && issuer.relativeNames.length > 0)
        return { alias: aliasOf(certificate, fingerprint), certificate };
      throw new PkiError(
        `Java reads no store with a certificate without a subject or an issuer: SHA-256 ${fingerprint}`,
      );
    });

const longestName = 64;

/**
 * The alias of a certificate, in lower case as Java requires. Several CAs may have the same name, so 64 bits of the fingerprint make it
 * unique.
 */
function aliasOf({ subject }: Certificate, fingerprint: string): string {
  const words =
    subject.commonName
      .slice(0, longestName)
      .toLowerCase()
      .match(/[a-z0-9.]+/g) ?? [];
  return [...words, fingerprint.slice(0, 16)].join("-");
}

/** Returns up to 32 bytes for a salt. They are the same for the same certificates, so that a store can be compared with the file. */
export function saltForCertificates(entries: readonly TrustedEntry[], bytes: number): Buffer {
  const digest = createHash("sha256");
  for (const { certificate } of entries) digest.update(certificate.der);
  return digest.digest().subarray(0, bytes);
}
