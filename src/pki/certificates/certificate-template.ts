import { randomBytes } from "node:crypto";
import { keyUsageNames } from "./certificate-extensions.ts";
import type { KeyUsageName } from "./certificate-extensions.ts";
import {
  encodeAuthorityInfoAccess,
  encodeAuthorityKeyId,
  encodeCrlDistributionPoints,
  encodeExtension,
} from "./extension.ts";
import type { Extension } from "./extension.ts";
import {
  encodeBitString,
  encodedTrue,
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeSmallInteger,
  encodeTime,
  encodeUnsignedInteger,
  encodeTagged,
  encodedNull,
} from "../der/der-writer.ts";
import { encodeDistinguishedName } from "../names/distinguished-name.ts";
import type { DistinguishedNameParts } from "../names/distinguished-name.ts";
import { extendedKeyUsages, oids } from "../der/object-identifiers.ts";
import type { ExtendedKeyUsageName } from "../der/object-identifiers.ts";
import { keyIdentifier } from "../keys/keys.ts";
import type { PublicKeyInfo } from "../keys/public-key.ts";
import { encodeSubjectAltNames, hasSubjectAltNames } from "../names/subject-alt-names.ts";
import type { SubjectAltNames } from "../names/subject-alt-names.ts";

/** The content of a certificate that is about to be signed. */
export interface CertificateTemplate {
  readonly subject: DistinguishedNameParts;
  readonly publicKey: PublicKeyInfo;
  /** Milliseconds since the epoch, written with a precision of seconds. */
  readonly notBefore: number;
  /** Milliseconds since the epoch, written with a precision of seconds. */
  readonly notAfter: number;
  readonly isCA: boolean;
  /** For a CA: the most intermediate certificates below it. */
  readonly maxPathLength?: number;
  /** When empty, no extension is written: every use is allowed. */
  readonly keyUsages: readonly KeyUsageName[];
  /** When empty, no extension is written: every use is allowed. */
  readonly extendedKeyUsages: readonly ExtendedKeyUsageName[];
  readonly subjectAltNames: SubjectAltNames;
  /** Whether the certificate is for an OCSP responder: then clients need not check whether it is revoked (RFC 6960 section 4.2.2.2.1). */
  readonly isOcspResponder?: boolean;
  /** Returns the URLs for revocation, which may depend on the serial number. Undefined: the certificate has none. */
  readonly revocationUrls?: ((serialNumber: Buffer) => RevocationUrls) | undefined;
}

/** URLs in a certificate. ASCII. */
export interface RevocationUrls {
  /** The CA's revocation list, or the part of it for this certificate. */
  readonly crl?: string;
  readonly ocsp?: string;
  /** The CA's own certificate. */
  readonly issuer: string;
}

/** The values that come from the issuer. */
export interface IssuerFields {
  /** The issuer's subject as encoded. */
  readonly rawSubject: Buffer;
  readonly authorityKeyId: Buffer;
  /** The whole AlgorithmIdentifier of the signature that will follow. */
  readonly algorithmIdentifier: Buffer;
}

const version3 = encodeTagged(0, encodeSmallInteger(2));

/**
 * Encodes the part of a certificate that is signed (RFC 5280 4.1.2), with a random positive serial number of 159 bits.
 */
export function encodeTbsCertificate(template: CertificateTemplate, issuer: IssuerFields): Buffer {
  const subject = encodeDistinguishedName(template.subject);
  const serialNumber = newSerialNumber();
  const context = { issuer, serialNumber, hasSubject: subject.length > 2 };
  return encodeSequence(
    version3,
    encodeUnsignedInteger(serialNumber),
    issuer.algorithmIdentifier,
    issuer.rawSubject,
    encodeSequence(encodeTime(template.notBefore), encodeTime(template.notAfter)),
    subject,
    template.publicKey.spki,
    encodeTagged(3, encodeSequence(...extensionsOf(template, context).map(encodeExtension))),
  );
}

/** 20 octets, the maximum of RFC 5280 4.1.2.2. The first bit is 0 (positive) and the second is 1 (full length). */
function newSerialNumber(): Buffer {
  const serialNumber = randomBytes(20);
  serialNumber[0] = ((serialNumber[0] ?? 0) & 0x7f) | 0x40;
  return serialNumber;
}

function extensionsOf(
  template: CertificateTemplate,
  {
    issuer,
    serialNumber,
    hasSubject,
  }: { readonly issuer: IssuerFields; readonly serialNumber: Buffer; readonly hasSubject: boolean },
): Extension[] {
  const extensions: Extension[] = [];
  if (template.keyUsages.length > 0) {
    extensions.push({ id: oids.keyUsage, isCritical: true, value: encodeKeyUsages(template.keyUsages) });
  }
  if (template.extendedKeyUsages.length > 0) {
    const usages = template.extendedKeyUsages.map((name) => encodeObjectIdentifier(extendedKeyUsages[name]));
    extensions.push({ id: oids.extendedKeyUsage, isCritical: false, value: encodeSequence(...usages) });
  }
  extensions.push({ id: oids.basicConstraints, isCritical: true, value: encodeBasicConstraints(template) });
  if (template.isCA) {
    const keyId = encodeOctetString(keyIdentifier(template.publicKey));
    extensions.push({ id: oids.subjectKeyIdentifier, isCritical: false, value: keyId });
  }
  const authorityKeyId = encodeAuthorityKeyId(issuer.authorityKeyId);
  extensions.push({ id: oids.authorityKeyIdentifier, isCritical: false, value: authorityKeyId });
  if (hasSubjectAltNames(template.subjectAltNames)) {
    // The extension is critical when the subject is empty (RFC 5280 4.2.1.6).
    const value = encodeSubjectAltNames(template.subjectAltNames);
    extensions.push({ id: oids.subjectAltName, isCritical: !hasSubject, value });
  }
  if (template.isOcspResponder === true) {
    extensions.push({ id: oids.ocspNoCheck, isCritical: false, value: encodedNull });
  }
  const urls = template.revocationUrls?.(serialNumber);
  if (urls?.crl !== undefined) {
    extensions.push({
      id: oids.crlDistributionPoints,
      isCritical: false,
      value: encodeCrlDistributionPoints(urls.crl),
    });
  }
  if (urls !== undefined) {
    extensions.push({ id: oids.authorityInfoAccess, isCritical: false, value: encodeAuthorityInfoAccess(urls) });
  }
  return extensions;
}

/** Encodes a named bit list, without trailing zero bits (X.690 11.2.2). */
function encodeKeyUsages(usages: readonly KeyUsageName[]): Buffer {
  let bits = 0;
  let last = 0;
  for (const usage of usages) {
    const bit = keyUsageNames.indexOf(usage);
    bits |= 0x8000 >> bit;
    last = Math.max(last, bit);
  }
  const octets = Buffer.from([bits >> 8, bits & 0xff]).subarray(0, (last >> 3) + 1);
  return encodeBitString(octets, 7 - (last & 7));
}

function encodeBasicConstraints({ isCA, maxPathLength }: CertificateTemplate): Buffer {
  if (!isCA) return encodeSequence();
  return encodeSequence(encodedTrue, ...(maxPathLength === undefined ? [] : [encodeSmallInteger(maxPathLength)]));
}
