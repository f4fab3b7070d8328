import { issueOwnCertificate } from "../../features/certificates/authorities/issue-own-certificate.ts";
import type { Identity, OwnCertificateOptions } from "../../features/certificates/authorities/issue-own-certificate.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import type { CertificateAuthority } from "../../pki/certificates/certificate-authority.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import { parsePrivateKeyPem, publicKeyInfoOf } from "../../pki/keys/keys.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import { splitKeyPair } from "../../pki/key-stores/pem-key-pair.ts";
import type { PemKeyPair } from "../../pki/key-stores/pem-key-pair.ts";

interface LoadOrIssueOptions extends OwnCertificateOptions {
  /** One file for the key and the certificate, so that they always match. */
  readonly file: string;
  readonly isRevoked: (certificate: Certificate) => boolean;
  /** Whether to keep a valid certificate of the present CA. `leftMilliseconds`: the time until it expires. */
  readonly isStillGood: (certificate: Certificate, leftMilliseconds: number) => boolean;
}

/**
 * The certificate in a file of the data directory (0600). A new one replaces it when it is damaged, revoked, issued by another CA, not valid
 * yet, or `isStillGood` says so.
 */
export function loadOrIssueCertificate(
  identity: Identity,
  { file, isRevoked, isStillGood, ...issuing }: LoadOrIssueOptions,
): PemKeyPair {
  const now = issuing.clock.now();
  const kept = readPair(file);
  const isKeptRevoked = kept !== undefined && isRevoked(kept.leaf);
  if (kept !== undefined && !isKeptRevoked) {
    const { leaf, pair } = kept;
    // A certificate that is not valid yet was made while the clock was ahead, and is replaced.
    const isValid = isIssuedBy(leaf, issuing.authority) && leaf.notBefore <= now;
    if (isValid && isStillGood(leaf, leaf.notAfter - now)) return pair;
  }
  const made = issueOwnCertificate(identity, issuing);
  // Every certificate of this name may be revoked. Then a new one is no better.
  if (isKeptRevoked && leafOf(made.certificate).some(isRevoked)) return kept.pair;
  writePrivateFile(file, made.key + made.certificate);
  return made;
}

interface ReadPair {
  readonly pair: PemKeyPair;
  readonly leaf: Certificate;
}

/** The pair in a file. Undefined for a file that is missing or damaged. Throws UnusableFile. */
function readPair(file: string): ReadPair | undefined {
  const pair = splitKeyPair(readPrivateFile(file) ?? "");
  if (pair === undefined) return undefined;
  const leaf = orPkiError(() => {
    const [certificate] = leafOf(pair.certificate);
    const isOfKey = certificate?.publicKey.spki.equals(publicKeyInfoOf(parsePrivateKeyPem(pair.key)).spki);
    return isOfKey === true ? certificate : undefined;
  });
  return leaf === undefined || leaf instanceof PkiError ? undefined : { pair, leaf };
}

/** The certificate itself, without the rest of its chain. Empty when there is none. */
export const leafOf = (certificatePem: string): readonly Certificate[] =>
  parseCertificatesPem(certificatePem).slice(0, 1);

/** Compare name and key: another CA may have the same name. */
const isIssuedBy = (
  certificate: Certificate,
  { certificate: { rawSubject, subjectKeyId } }: CertificateAuthority,
): boolean =>
  certificate.rawIssuer.equals(rawSubject) &&
  (subjectKeyId === undefined || certificate.authorityKeyId?.equals(subjectKeyId) === true);
