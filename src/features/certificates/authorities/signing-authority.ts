import { loadCertificateAuthority } from "../../../pki/certificate-authority.ts";
import type { CertificateAuthority } from "../../../pki/certificate-authority.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { encodePem } from "../../../pki/pem.ts";
import { parseCertificatesPem } from "../../../pki/trust-anchors.ts";

/** A CA that signs requests, and what its relying parties need. */
export interface SigningAuthority extends CertificateAuthority {
  /** PEM of the CA certificates that are handed out behind an issued one: from the issuer up, without the root. */
  readonly chainPem: string;
  /** The CA's certificate and its issuers as far as they are known, from the CA up. */
  readonly path: readonly Certificate[];
  /** What relying parties trust: the root of the chain (the CA itself where there is none), and roots to come. */
  readonly anchors: readonly Certificate[];
}

/** A CA whose one certificate is its own root. */
export const rootSigningAuthority = (authority: CertificateAuthority): SigningAuthority => ({
  ...authority,
  chainPem: "",
  path: [authority.certificate],
  anchors: [authority.certificate],
});

const isSelfIssued = ({ rawIssuer, rawSubject }: Certificate): boolean => rawIssuer.equals(rawSubject);

/**
 * A CA from its files. The first certificate is the one that signs; its issuers may follow, and CA certificates that are not
 * among those: they are published now, to sign later. Throws PkiError when the key does not fit or the first is no CA.
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
