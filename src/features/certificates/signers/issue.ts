import { signCertificate, signCertificateWith } from "../../../pki/certificates/certificate-authority.ts";
import type { CertificateAuthority, CertificateIssuer } from "../../../pki/certificates/certificate-authority.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import type { CertificateTemplate } from "../../../pki/certificates/certificate-template.ts";
import { parseCertificate } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { certificateSignature, checkSignature, checkSignatureInThreadPool } from "../../../pki/keys/check-signature.ts";
import { encodeDistinguishedName } from "../../../pki/names/distinguished-name.ts";
import { nameConstraintFault } from "../../../pki/names/name-constraints.ts";
import { extendedKeyUsages, oids } from "../../../pki/der/object-identifiers.ts";
import { encodePem } from "../../../pki/pem.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { minimumRsaBits } from "../../../pki/keys/public-key.ts";
import { encodeSubjectAltNames, hasSubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import { backdateMilliseconds } from "../backdate.ts";
import { minimumExpirationSeconds } from "../requested-lifetime.ts";
import { certificateUsagesOf } from "./usages.ts";

/** Below this lifetime, backdating does not shorten the validity, because renewals would be too frequent. */
const shortLifetimeSeconds = 8 * 60 * 60;

export interface IssueOptions {
  readonly request: CertificateRequest;
  readonly usages: readonly string[];
  /** The requested lifetime, in seconds. */
  readonly expirationSeconds: number | undefined;
  /** `path`: the CA's certificate, then its known issuers. No certificate may be valid for longer than any of them. */
  readonly authority: CertificateAuthority & { readonly path?: readonly Certificate[] };
  /** `--cluster-signing-duration`, in seconds. */
  readonly maximumLifetimeSeconds: number;
  /** The URLs of revocation lists and OCSP for the certificate. Undefined: the certificate has none. */
  readonly revocationUrls?: CertificateTemplate["revocationUrls"];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface IssueWithOptions extends Omit<IssueOptions, "authority"> {
  readonly authority: CertificateIssuer & Pick<IssueOptions["authority"], "path">;
}

export interface SignedCertificate {
  readonly certificate: Certificate;
  /** One CERTIFICATE block. */
  readonly pem: string;
}

/**
 * Returns the reasons why this CA must not sign a request, independent of the signer's own rules; one sentence each. `issuers` are the CA's
 * certificate and those above it, because clients refuse names that their name constraints exclude.
 */
export function issuingFaults(request: CertificateRequest, issuers: readonly Certificate[]): string[] {
  const { publicKey, subject, subjectAltNames } = request;
  const faults: string[] = [];
  if (publicKey.weakness !== undefined) faults.push(`the key is not fit for use: ${publicKey.weakness}`);
  else if (publicKey.algorithm === "RSA" && publicKey.sizeBits < minimumRsaBits) {
    faults.push(`RSA keys must have at least ${minimumRsaBits} bits, this one has ${publicKey.sizeBits}`);
  }
  for (const name of [...subjectAltNames.dnsNames, ...subjectAltNames.emailAddresses]) {
    if (!isReadAlike(name)) {
      faults.push(`the name ${JSON.stringify(name)} is empty, or has a blank or a control character in it`);
    }
  }
  for (const { value } of subject.relativeNames.flat()) {
    if (/\p{Cc}/u.test(value)) faults.push(`the subject's ${JSON.stringify(value)} has a control character in it`);
  }
  for (const { nameConstraints } of issuers) {
    if (nameConstraints === undefined) continue;
    // Check the names as they would be issued, not the request's own encoding or its other extensions.
    const names = { id: oids.subjectAltName, isCritical: false, value: encodeSubjectAltNames(subjectAltNames) };
    const extensions = hasSubjectAltNames(subjectAltNames) ? [names] : [];
    const fault = nameConstraintFault(nameConstraints, { subject, extensions });
    if (fault !== undefined) faults.push(`the CA may not certify the names: ${fault}`);
  }
  return faults;
}

/**
 * Whether all programs read a name in the same way. Programs disagree where other names end: some would take `a.example.com\0.evil.test`
 * for `a.example.com`, and the organization `system:masters\0` for `system:masters`.
 */
const isReadAlike = (name: string): boolean => /^[!-~]+$/.test(name);

/**
 * Returns the extended key usages that clients would refuse below `issuers`, the CA's certificate and those above it; one sentence each. A
 * CA whose certificate has extended key usages can pass on only these (as Go and OpenSSL read RFC 5280 section 4.2.1.12).
 */
export const usageFaults = (usages: readonly string[], issuers: readonly Certificate[]): string[] =>
  certificateUsagesOf(usages)
    .extendedKeyUsages.filter((usage) =>
      issuers.some(
        ({ extendedKeyUsages: passedOn }) =>
          passedOn !== undefined &&
          ![extendedKeyUsages[usage], extendedKeyUsages.any].some((one) => passedOn.includes(one)),
      ),
    )
    .map((usage) => `the extended key usages of the CA do not include ${usage}`);

/**
 * Issues the certificate for a request, then parses and checks it. Copies only subject, key and subject alternative
 * names of the request, never other extensions. Throws PkiError when the CA has expired, a usage is unknown or there
 * are `issuingFaults`. Check the signer's rules before with `SignerRules.faults`.
 */
export function issueCertificate(options: IssueOptions): SignedCertificate {
  const { authority } = options;
  const template = certificateTemplate(options);
  const certificate = checkedContents(signCertificate(template, authority), {
    template,
    issuer: authority.certificate,
  });
  checkSignature(certificateSignature(certificate, authority.certificate));
  return { certificate, pem: encodePem("CERTIFICATE", certificate.der) };
}

/**
 * Issues a certificate like `issueCertificate`, by a CA whose key may be outside this process. The thread pool checks the signature, which
 * takes three times as long as signing. Also rejects with KeyUnavailable.
 */
export async function issueCertificateWith(options: IssueWithOptions): Promise<SignedCertificate> {
  const { authority } = options;
  const template = certificateTemplate(options);
  const der = await signCertificateWith(template, authority);
  const certificate = checkedContents(der, { template, issuer: authority.certificate });
  await checkSignatureInThreadPool(certificateSignature(certificate, authority.certificate));
  return { certificate, pem: encodePem("CERTIFICATE", certificate.der) };
}

/** The lifetime of a certificate in seconds: the requested one, at least ten minutes, at most the signer's maximum. */
export function lifetimeSeconds(requested: number | undefined, maximum: number): number {
  return requested === undefined ? maximum : Math.min(Math.max(requested, minimumExpirationSeconds), maximum);
}

function certificateTemplate(options: IssueWithOptions): CertificateTemplate {
  const { request, now, authority } = options;
  const { path = [authority.certificate] } = authority;
  const faults = [...issuingFaults(request, path), ...usageFaults(options.usages, path)];
  if (faults.length > 0) throw new PkiError(faults.join("; "));
  const { keyUsages, extendedKeyUsages, unrecognized } = certificateUsagesOf(options.usages);
  if (unrecognized.length > 0) throw new PkiError(`unrecognized usage values: ${JSON.stringify(unrecognized)}`);
  const caNotAfter = Math.min(...path.map(({ notAfter }) => notAfter));
  if (now >= caNotAfter) throw new PkiError(`the signer has expired: NotAfter=${new Date(caNotAfter).toISOString()}`);

  const seconds = lifetimeSeconds(options.expirationSeconds, options.maximumLifetimeSeconds);
  const shorterBy = seconds < shortLifetimeSeconds ? 0 : backdateMilliseconds;
  const thisSecond = Math.floor(now / 1000) * 1000;
  return {
    subject: request.subject,
    publicKey: request.publicKey,
    notBefore: thisSecond - backdateMilliseconds,
    notAfter: Math.min(thisSecond + seconds * 1000 - shorterBy, caNotAfter),
    isCA: false,
    keyUsages,
    extendedKeyUsages,
    subjectAltNames: request.subjectAltNames,
    revocationUrls: options.revocationUrls,
  };
}

/** Parses a signed certificate. Throws when it does not match its template, which is a bug: it must not be issued. */
function checkedContents(
  der: Buffer,
  { template, issuer }: { readonly template: CertificateTemplate; readonly issuer: Certificate },
): Certificate {
  const certificate = parseCertificate(der);
  const matches =
    certificate.rawSubject.equals(encodeDistinguishedName(template.subject)) &&
    certificate.rawIssuer.equals(issuer.rawSubject) &&
    certificate.publicKey.spki.equals(template.publicKey.spki) &&
    encodeSubjectAltNames(certificate.subjectAltNames).equals(encodeSubjectAltNames(template.subjectAltNames)) &&
    certificate.notBefore === template.notBefore &&
    certificate.notAfter === template.notAfter &&
    certificate.notAfter <= issuer.notAfter &&
    !certificate.isCA &&
    certificate.unhandledCriticalExtensions.length === 0;
  if (!matches) throw new Error("the signed certificate does not match its template");
  return certificate;
}
