import { createHash } from "node:crypto";
import { fingerprintOf } from "../certificates/certificate.ts";
import type { Certificate } from "../certificates/certificate.ts";
import { PkiError } from "../pki-error.ts";

/** Certificates that programs trust, to be kept in a store without keys. */
export interface TrustStore {
  /** Each once. Their order means nothing. */
  readonly certificates: readonly Certificate[];
  /** Visible ASCII characters. It protects the store from accidents alone: certificates are public. */
  readonly password: string;
}

export interface TrustedEntry {
  /** The name by which people find the certificate. Each has its own. */
  readonly alias: string;
  readonly certificate: Certificate;
}

/**
 * The entries of a store: the same ones in the same order for the same certificates, in whatever order they come. Throws PkiError for a
 * certificate without a subject or an issuer (RFC 5280 4.1.2.4 and 4.1.2.6): Java would read nothing of the whole store.
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

/** Java has aliases in lower case. Several CAs may have one name: 64 bits of the fingerprint tell them apart. */
function aliasOf({ subject }: Certificate, fingerprint: string): string {
  const words =
    subject.commonName
      .slice(0, longestName)
      .toLowerCase()
      .match(/[a-z0-9.]+/g) ?? [];
  return [...words, fingerprint.slice(0, 16)].join("-");
}

/** Bytes for a salt of up to 32 bytes: the same for the same certificates, so that a store can be compared with the file. */
export function saltForCertificates(entries: readonly TrustedEntry[], bytes: number): Buffer {
  const digest = createHash("sha256");
  for (const { certificate } of entries) digest.update(certificate.der);
  return digest.digest().subarray(0, bytes);
}
