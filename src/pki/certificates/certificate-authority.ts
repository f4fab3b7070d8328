import type { KeyObject } from "node:crypto";
import { maySignCertificates, parseCertificate } from "./certificate.ts";
import type { Certificate } from "./certificate.ts";
import { encodeTbsCertificate } from "./certificate-template.ts";
import type { CertificateTemplate } from "./certificate-template.ts";
import { encodeDistinguishedName } from "../names/distinguished-name.ts";
import type { DistinguishedNameParts } from "../names/distinguished-name.ts";
import { keyIdentifier, parsePrivateKeyPem, publicKeyInfoOf } from "../keys/keys.ts";
import { PkiError } from "../pki-error.ts";
import { signatureSchemeFor } from "../keys/sign.ts";
import { sealX509, sealX509AtOnce, signingKeyOf } from "../keys/signing-key.ts";
import type { AuthorityKey } from "../keys/signing-key.ts";
import { noSubjectAltNames } from "../names/subject-alt-names.ts";
import { parseCertificatesPem } from "./certificates-pem.ts";

/** A key that signs certificates and revocation lists, in this process or outside it, with its CA certificate. */
export interface CertificateIssuer {
  readonly certificate: Certificate;
  /** Secret when it is in this process: never log it. */
  readonly privateKey: AuthorityKey;
}

/** A CA whose key is in this process. */
export interface CertificateAuthority extends CertificateIssuer {
  readonly privateKey: KeyObject;
}

/** Signs a template and returns the certificate in DER. Synchronous, because nearly all of its time is the signature. */
export const signCertificate = (template: CertificateTemplate, authority: CertificateAuthority): Buffer =>
  sealX509AtOnce(tbsOf(template, authority.certificate), authority.privateKey);

/** Signs a template like `signCertificate`, with a key that may be outside this process. Rejects with KeyUnavailable. */
export const signCertificateWith = (
  template: CertificateTemplate,
  { certificate, privateKey }: CertificateIssuer,
): Promise<Buffer> => sealX509(tbsOf(template, certificate), signingKeyOf(privateKey));

const tbsOf = (template: CertificateTemplate, issuer: Certificate): Buffer =>
  encodeTbsCertificate(template, {
    rawSubject: issuer.rawSubject,
    authorityKeyId: keyIdOf(issuer),
    algorithmIdentifier: signatureSchemeFor(issuer.publicKey).algorithmIdentifier,
  });

/**
 * The authority key identifier in a CA's certificates and lists (RFC 5280 section 4.2.1.1): the CA's own subject key identifier. For a CA
 * without one, it is computed from the key.
 */
export const keyIdOf = ({ subjectKeyId, publicKey }: Certificate): Buffer => subjectKeyId ?? keyIdentifier(publicKey);

export interface SelfSignedOptions {
  readonly subject: DistinguishedNameParts;
  readonly privateKey: KeyObject;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** The number of intermediate CAs that are allowed below this CA. Unlimited when left out. */
  readonly maxPathLength?: number;
}

/** Creates a root CA: a CA whose certificate is self-signed. */
export function createCertificateAuthority(options: SelfSignedOptions): CertificateAuthority {
  const { subject, privateKey, notBefore, notAfter, maxPathLength } = options;
  const publicKey = publicKeyInfoOf(privateKey);
  const tbsCertificate = encodeTbsCertificate(
    {
      subject,
      publicKey,
      notBefore,
      notAfter,
      isCA: true,
      ...(maxPathLength !== undefined && { maxPathLength }),
      keyUsages: ["digitalSignature", "certSign", "crlSign"],
      extendedKeyUsages: [],
      subjectAltNames: noSubjectAltNames,
    },
    {
      rawSubject: encodeDistinguishedName(subject),
      authorityKeyId: keyIdentifier(publicKey),
      algorithmIdentifier: signatureSchemeFor(publicKey).algorithmIdentifier,
    },
  );
  return { certificate: parseCertificate(sealX509AtOnce(tbsCertificate, privateKey)), privateKey };
}

/**
 * Loads a CA from two PEM texts: the first certificate of one and the first private key of the other. Throws PkiError
 * when the key does not belong to the certificate, the key is not usable, or the certificate may not sign certificates.
 */
export function loadCertificateAuthority(pem: {
  readonly certificate: string | Uint8Array;
  readonly privateKey: string | Uint8Array;
}): CertificateAuthority {
  const [certificate] = parseCertificatesPem(pem.certificate);
  if (certificate === undefined) throw new PkiError("the CA file holds no certificate");
  const privateKey = parsePrivateKeyPem(pem.privateKey);
  if (!publicKeyInfoOf(privateKey).spki.equals(certificate.publicKey.spki)) {
    throw new PkiError("the CA's private key does not belong to its certificate");
  }
  checkAuthorityCertificate(certificate);
  return { certificate, privateKey };
}

/**
 * Throws PkiError for a certificate that may not sign certificates, whose key cannot sign here, or whose subject is empty (RFC 5280 section
 * 4.1.2.6: GnuTLS refuses certificates of such a CA, and so does OpenSSL with -x509_strict).
 */
export function checkAuthorityCertificate(certificate: Certificate): void {
  const { weakness } = certificate.publicKey;
  if (weakness !== undefined) throw new PkiError(weakness);
  signatureSchemeFor(certificate.publicKey);
  if (certificate.subject.relativeNames.length === 0) {
    throw new PkiError(
      "the certificate may not sign certificates: its subject is empty, so some clients refuse what it signs",
    );
  }
  if (!maySignCertificates(certificate)) {
    throw new PkiError("the certificate may not sign certificates: it is not a CA certificate");
  }
}
