import { loadCertificateAuthority } from "../../../pki/certificate-authority.ts";
import type { CertificateAuthority } from "../../../pki/certificate-authority.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { encodePem } from "../../../pki/pem.ts";
import { parseCertificatesPem } from "../../../pki/trust-anchors.ts";

/** A CA that signs requests, and what its relying parties need. */
export interface SigningAuthority extends CertificateAuthority {
  /** PEM of the CA certificates that follow an issued certificate: from its issuer upwards, without the root. */
  readonly chainPem: string;
  /** The CA's certificate and its known issuers, from the CA upwards. */
  readonly path: readonly Certificate[];
  /** The trust anchors for relying parties: the root of the chain (or the CA itself), and future roots. */
  readonly anchors: readonly Certificate[];
}

/** A CA that is its own root. */
export const rootSigningAuthority = (authority: CertificateAuthority): SigningAuthority => ({
  ...authority,
  chainPem: "",
  path: [authority.certificate],
  anchors: [authority.certificate],
});

const isSelfIssued = ({ rawIssuer, rawSubject }: Certificate): boolean => rawIssuer.equals(rawSubject);

/**
 * Loads a CA from PEM. The first certificate is the one that signs. Its issuers may follow, and other CA certificates,
 * which are published now and may sign later. Throws PkiError when the key does not match or the first certificate is
 * not a CA.
 */
export function loadSigningAuthority(pem: {
  readonly certificate: string;
  readonly privateKey: string;
}): SigningAuthority {
  const authority = loadCertificateAuthority(pem);
  const others = parseCertificatesPem(pem.certificate)
    .slice(1)
    .filter(({ isCA }) => isCA);
  const path = [authority.certificate];
  for (let last: Certificate | undefined = authority.certificate; last !== undefined && !isSelfIssued(last);) {
    const { rawIssuer }: Certificate = last;
    last = others.find((other) => other.rawSubject.equals(rawIssuer) && !path.includes(other));
    if (last !== undefined) path.push(last);
  }
  const top = path.at(-1) ?? authority.certificate;
  const handedOut = path.filter((certificate) => !isSelfIssued(certificate));
  return {
    ...authority,
    chainPem: handedOut.map(({ der }) => encodePem("CERTIFICATE", der)).join(""),
    path,
    anchors: [top, ...others.filter((other) => !path.includes(other))],
  };
}
