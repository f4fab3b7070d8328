import { hostname } from "node:os";
import { isIP } from "node:net";
import { join } from "node:path";
import type { Clock } from "../../machinery/api/clock.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import type { Certificate } from "../../pki/certificate.ts";
import { parseCertificatesPem } from "../../pki/certificates-pem.ts";
import type { CertificateAuthority } from "../../pki/certificate-authority.ts";
import { issueOwnCertificate } from "../../features/certificates/authorities/issue-own-certificate.ts";
import type {
  PemKeyPair,
  OwnCertificateOptions,
} from "../../features/certificates/authorities/issue-own-certificate.ts";

const lifetimeMilliseconds = 365 * 24 * 3_600_000;
/** Renewed when less than a third of the lifetime is left. */
const renewalMilliseconds = lifetimeMilliseconds / 3;

/** The names of the server: loopback, the machine's own, and the configured ones. */
function servingNames(more: readonly string[]): { dnsNames: string[]; ipAddresses: string[] } {
  const names = [...new Set(["localhost", hostname(), "127.0.0.1", "::1", ...more])].filter(
    (name) => name !== "0.0.0.0" && name !== "::",
  );
  return {
    dnsNames: names.filter((name) => isIP(name) === 0),
    ipAddresses: names.filter((name) => isIP(name) !== 0),
  };
}

export interface ServingCertificateOptions {
  readonly dataDirectory: string;
  readonly authority: CertificateAuthority;
  readonly clock: Clock;
  /** Names in addition to loopback and the machine's own. */
  readonly names: readonly string[];
  /** A certificate that is revoked is replaced. */
  readonly isRevoked: (certificate: Certificate) => boolean;
  /** The addresses of revocation lists and OCSP, for the certificate. Undefined: it names none. */
  readonly revocation: OwnCertificateOptions["revocation"];
}

/**
 * The data directory's serving certificate (`serving.pem`: key and certificate in one file, so that they always match).
 */
export function openServingCertificate({
  dataDirectory,
  authority,
  clock,
  names,
  isRevoked,
  revocation,
}: ServingCertificateOptions): PemKeyPair {
  const file = join(dataDirectory, "serving.pem");
  const wanted = servingNames(names);
  const kept = splitKeyPair(readPrivateFile(file) ?? "");
  const isKeptRevoked = kept !== undefined && leafOf(kept.certificate).some(isRevoked);
  if (kept !== undefined && !isKeptRevoked && isStillGood(kept, { authority, clock, wanted })) return kept;
  const made = issueOwnCertificate(
    {
      subject: { commonName: "signet" },
      extendedKeyUsages: ["serverAuth"],
      subjectAltNames: { ...wanted, emailAddresses: [], uris: [] },
    },
    { authority, clock, lifetimeMilliseconds, revocation },
  );
  // Every certificate of this name may be revoked: then another one would not help either.
  if (isKeptRevoked && leafOf(made.certificate).some(isRevoked)) return kept;
  writePrivateFile(file, made.key + made.certificate);
  return made;
}

/** The certificate itself, without its chain. Empty when there is none. */
export const leafOf = (certificatePem: string): readonly Certificate[] =>
  parseCertificatesPem(certificatePem).slice(0, 1);

/** Splits a file with a private key followed by certificates. */
export function splitKeyPair(pem: string): PemKeyPair | undefined {
  const certificateAt = pem.indexOf("-----BEGIN CERTIFICATE-----");
  if (certificateAt <= 0) return undefined;
  return { key: pem.slice(0, certificateAt), certificate: pem.slice(certificateAt) };
}

/** Compare name and key: another CA may have the same name. */
export const isIssuedBy = (
  certificate: Certificate,
  { certificate: { rawSubject, subjectKeyId } }: CertificateAuthority,
): boolean =>
  certificate.rawIssuer.equals(rawSubject) &&
  (subjectKeyId === undefined || certificate.authorityKeyId?.equals(subjectKeyId) === true);

interface Wanted {
  readonly authority: CertificateAuthority;
  readonly clock: Clock;
  readonly wanted: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
}

function isStillGood(pair: PemKeyPair, { authority, clock, wanted }: Wanted): boolean {
  const [certificate] = parseCertificatesPem(pair.certificate);
  if (certificate === undefined || !isIssuedBy(certificate, authority)) return false;
  const { dnsNames, ipAddresses } = certificate.subjectAltNames;
  const now = clock.now();
  return (
    // One from a time when the clock was ahead helps nobody.
    certificate.notBefore <= now &&
    certificate.notAfter - now > renewalMilliseconds &&
    wanted.dnsNames.every((name) => dnsNames.includes(name)) &&
    wanted.ipAddresses.every((address) => ipAddresses.includes(address))
  );
}
