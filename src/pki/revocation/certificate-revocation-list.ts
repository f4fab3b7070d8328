import { parseAlgorithmIdentifier } from "../der/algorithm-identifier.ts";
import { keyIdOf } from "../certificates/certificate-authority.ts";
import type { CertificateIssuer } from "../certificates/certificate-authority.ts";
import { contextTag, DerReader, readTime, soleSequence, tags } from "../der/der.ts";
import {
  encodeEnumerated,
  encodeSequence,
  encodeSmallInteger,
  encodeTime,
  encodeUnsignedInteger,
  encodeTagged,
} from "../der/der-writer.ts";
import {
  encodeAuthorityKeyId,
  encodeDistributionPointName,
  encodeExtension,
  extensionValue,
  parseExtensions,
} from "../certificates/extension.ts";
import type { Extension } from "../certificates/extension.ts";
import { oids } from "../der/object-identifiers.ts";
import { PkiError } from "../pki-error.ts";
import { reasonCodes } from "./revocation-reason.ts";
import type { RevocationReason } from "./revocation-reason.ts";
import { signatureAlgorithmOf } from "../keys/signature-algorithm.ts";
import type { SignatureAlgorithm } from "../keys/signature-algorithm.ts";
import { signatureSchemeFor } from "../keys/sign.ts";
import { sealX509, signingKeyOf } from "../keys/signing-key.ts";
import { generalNameTags } from "../names/subject-alt-names.ts";

/** One entry of a revocation list (RFC 5280 section 5.3). */
export interface RevokedEntry {
  /** Big-endian, with or without leading zeros. */
  readonly serialNumber: Buffer;
  /** Milliseconds since the epoch. */
  readonly revokedAt: number;
  readonly reason: RevocationReason;
}

const reasonExtensions = new Map(
  Object.entries(reasonCodes)
    // An entry without the extension means unspecified, and no entry should say so explicitly (RFC 5280 section 5.3.1).
    .filter(([, code]) => code !== reasonCodes.unspecified)
    .map(([reason, code]) => {
      const extension = { id: oids.crlReason, isCritical: false, value: encodeEnumerated(code) };
      return [reason, encodeSequence(encodeExtension(extension))];
    }),
);
const none = Buffer.alloc(0);

export const encodeRevokedEntry = ({ serialNumber, revokedAt, reason }: RevokedEntry): Buffer =>
  encodeSequence(encodeUnsignedInteger(serialNumber), encodeTime(revokedAt), reasonExtensions.get(reason) ?? none);

export interface RevocationListTemplate {
  /** Entries of `encodeRevokedEntry`, one after the other. */
  readonly entries: Buffer;
  /** Grows with each list of the same scope (RFC 5280 section 5.2.3). Below 2^47. */
  readonly number: number;
  /** Milliseconds since the epoch, written with a precision of seconds. */
  readonly thisUpdate: number;
  /** Milliseconds since the epoch, written with a precision of seconds. */
  readonly nextUpdate: number;
  /** For a list of some of the CA's certificates: the URLs of the list in these certificates (RFC 5280 section 5.2.5). */
  readonly distributionPoints?: readonly string[];
}

/** Signs a version 2 list (RFC 5280 section 5.1). Rejects with KeyUnavailable. */
export function signRevocationList(
  { entries, number, thisUpdate, nextUpdate, distributionPoints = [] }: RevocationListTemplate,
  { certificate, privateKey }: CertificateIssuer,
): Promise<Buffer> {
  const key = signingKeyOf(privateKey);
  const { algorithmIdentifier } = signatureSchemeFor(key.publicKey);
  const digits = Buffer.alloc(6);
  digits.writeUIntBE(number, 0, 6);
  const extensions: readonly Extension[] = [
    { id: oids.authorityKeyIdentifier, isCritical: false, value: encodeAuthorityKeyId(keyIdOf(certificate)) },
    { id: oids.crlNumber, isCritical: false, value: encodeUnsignedInteger(digits) },
    ...(distributionPoints.length === 0
      ? []
      : [
          {
            id: oids.issuingDistributionPoint,
            isCritical: true,
            value: encodeSequence(encodeDistributionPointName(distributionPoints)),
          },
        ]),
  ];
  const tbs = encodeSequence(
    encodeSmallInteger(1),
    algorithmIdentifier,
    certificate.rawSubject,
    encodeTime(thisUpdate),
    encodeTime(nextUpdate),
    entries.length === 0 ? none : encodeSequence(entries),
    encodeTagged(0, encodeSequence(...extensions.map(encodeExtension))),
  );
  return sealX509(tbs, key);
}

/** The fields of a parsed revocation list. */
export interface RevocationList {
  /** The bytes that the signature covers. */
  readonly tbsCertList: Buffer;
  readonly signature: Buffer;
  /** Undefined when Signet cannot verify the algorithm. */
  readonly signatureAlgorithm: SignatureAlgorithm | undefined;
  readonly number: number;
  /** The URLs of the list in certificates. Empty: it is a list of all certificates of the CA. */
  readonly distributionPoints: readonly string[];
  /** Milliseconds since the epoch. */
  readonly thisUpdate: number;
  /** Milliseconds since the epoch. */
  readonly nextUpdate: number;
  /** Entries of `encodeRevokedEntry`, one after the other. */
  readonly entries: Buffer;
}

/** Parses a list that `signRevocationList` made. Does not check the signature. Throws PkiError. */
export function parseRevocationList(der: Buffer): RevocationList {
  const list = soleSequence(der, "CertificateList");
  const { bytes: tbsCertList, content } = list.readExpected(tags.sequence, "TBSCertList");
  const tbs = new DerReader(content);
  const algorithm = parseAlgorithmIdentifier(list.read(tags.sequence, "AlgorithmIdentifier"));
  const { bytes: signature } = list.readBitString();
  list.expectEnd();

  if (tbs.readSmallInteger() !== 1) throw new PkiError("x509: unsupported crl version");
  parseAlgorithmIdentifier(tbs.read(tags.sequence, "AlgorithmIdentifier"));
  tbs.readWhole(tags.sequence, "Name");
  const thisUpdate = readTime(tbs);
  const nextUpdate = readTime(tbs);
  const entries = tbs.readOptional(tags.sequence) ?? none;
  const explicit = tbs.read(contextTag(0, "constructed"), "crlExtensions");
  tbs.expectEnd();
  const extensions = parseExtensions(explicit, (id) => `x509: duplicate crl extension ${JSON.stringify(id)}`);
  const number = extensionValue(extensions, oids.crlNumber);
  const scope = extensionValue(extensions, oids.issuingDistributionPoint);
  if (number === undefined) throw new PkiError("x509: the crl has no number");
  return {
    tbsCertList,
    signature,
    signatureAlgorithm: signatureAlgorithmOf(algorithm),
    number: new DerReader(number).readSmallInteger(),
    distributionPoints: scope === undefined ? [] : readDistributionPoints(scope),
    thisUpdate,
    nextUpdate,
    entries,
  };
}

/** The URIs of an IssuingDistributionPoint (RFC 5280 section 5.2.5) that has nothing else. */
function readDistributionPoints(value: Buffer): string[] {
  const scope = new DerReader(value).readSequence("IssuingDistributionPoint");
  const name = new DerReader(scope.read(contextTag(0, "constructed"), "DistributionPointName"));
  const fullName = new DerReader(name.read(contextTag(0, "constructed"), "fullName"));
  const uris: string[] = [];
  fullName.each(() => uris.push(fullName.read(generalNameTags.uri, "URI").toString("latin1")));
  return uris;
}
