import { authorityPath, certificateName, isSelfIssued } from "../../../pki/certificates/authority-path.ts";
import {
  checkAuthorityCertificate,
  loadCertificateAuthority,
} from "../../../pki/certificates/certificate-authority.ts";
import type { CertificateAuthority, CertificateIssuer } from "../../../pki/certificates/certificate-authority.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { parsePrivateKeyPem, publicKeyInfoOf } from "../../../pki/keys/keys.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import type { PublicKeyInfo } from "../../../pki/keys/public-key.ts";
import type { SigningKey } from "../../../pki/keys/signing-key.ts";
import { encodeCertificatesPem, parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";

/** A CA that signs requests, with the certificates that its relying parties need. */
export interface SigningAuthority extends CertificateIssuer {
  /** PEM of the CA certificates that follow an issued certificate, from its issuer upwards, without the root. */
  readonly chainPem: string;
  /** The CA's certificate and its known issuers, from the CA upwards. */
  readonly path: readonly Certificate[];
  /** The trust anchors for relying parties: the root of the chain (or the CA itself), and future roots. */
  readonly anchors: readonly Certificate[];
  /**
   * The CAs of earlier and later rotations whose keys are here. They still sign revocation lists and OCSP answers for their own
   * certificates.
   */
  readonly otherGenerations?: readonly SigningAuthority[];
}

/** A CA, followed by the CAs of its earlier and later rotations. */
export const withOtherGenerations = (authority: SigningAuthority): readonly SigningAuthority[] => [
  authority,
  ...(authority.otherGenerations ?? []),
];

/** A CA whose key is in this process. */
export type SigningAuthorityInProcess = SigningAuthority & CertificateAuthority;

/** A CA that is its own root. */
export const rootSigningAuthority = (authority: CertificateAuthority): SigningAuthorityInProcess => ({
  ...authority,
  chainPem: "",
  path: [authority.certificate],
  anchors: [authority.certificate],
});

/**
 * Loads a CA from PEM. The first certificate is the signing one. Its issuers may follow, and other CA certificates, which are published now
 * and may sign later. Throws PkiError when the key does not match, the first certificate is not a CA, or clients would refuse the path from
 * it to its root. Validity times are not checked, so an expired CA can be loaded.
 */
export function loadSigningAuthority(pem: {
  readonly certificate: string;
  readonly privateKey: string;
}): SigningAuthorityInProcess {
  const certificates = parseCertificatesPem(pem.certificate);
  refuseOtherOrder(certificates, pem.privateKey);
  return authorityOf(certificates, loadCertificateAuthority(pem));
}

/**
 * Loads a CA whose key is outside this process. `open` gets the public key of the CA's certificate. Throws PkiError as
 * `loadSigningAuthority`.
 */
export function loadSigningAuthorityElsewhere(
  certificatePem: string,
  open: (publicKey: PublicKeyInfo) => SigningKey,
): SigningAuthority {
  const certificates = parseCertificatesPem(certificatePem);
  const [certificate] = certificates;
  if (certificate === undefined) throw new PkiError("the CA file holds no certificate");
  checkAuthorityCertificate(certificate);
  return authorityOf(certificates, { certificate, privateKey: open(certificate.publicKey) });
}

function authorityOf<Authority extends CertificateIssuer>(
  certificates: readonly Certificate[],
  authority: Authority,
): Authority & SigningAuthority {
  const path = authorityPath(certificates);
  const top = path.at(-1) ?? authority.certificate;
  const others = certificates.filter((one) => one.isCA && !path.some(({ der }) => der.equals(one.der)));
  const handedOut = path.filter((certificate) => !isSelfIssued(certificate));
  return {
    ...authority,
    chainPem: encodeCertificatesPem(handedOut),
    path,
    anchors: [top, ...others],
  };
}

/**
 * Throws PkiError when the key belongs to a certificate that is not the first: people often put the root first. Without this check, the
 * error would be about the key.
 */
function refuseOtherOrder(certificates: readonly Certificate[], privateKey: string): void {
  const { spki } = publicKeyInfoOf(parsePrivateKeyPem(privateKey));
  const signing = certificates.find(({ publicKey }) => publicKey.spki.equals(spki));
  if (signing === undefined || certificates[0]?.publicKey.spki.equals(spki) === true) return;
  throw new PkiError(
    `the private key belongs to ${certificateName(certificates, signing)}: put that certificate first, and its issuers after it`,
  );
}
