import { hash } from "node:crypto";
import { parseAlgorithmIdentifier } from "../der/algorithm-identifier.ts";
import { contextTag, DerReader, readTime, soleValue, tags } from "../der/der.ts";
import { parseDistinguishedName } from "../names/distinguished-name.ts";
import type { DistinguishedName } from "../names/distinguished-name.ts";
import { readCertificateExtensions } from "./certificate-extensions.ts";
import type { CertificateExtensions } from "./certificate-extensions.ts";
import { PkiError, withFault } from "../pki-error.ts";
import { parsePublicKeyInfo } from "../keys/public-key.ts";
import type { PublicKeyInfo } from "../keys/public-key.ts";
import { signatureAlgorithmOf } from "../keys/signature-algorithm.ts";
import type { SignatureAlgorithm } from "../keys/signature-algorithm.ts";
import { parseExtensions } from "./extension.ts";
import type { Extension } from "./extension.ts";

/** An X.509 certificate (RFC 5280 4.1). Immutable. */
export interface Certificate extends CertificateExtensions {
  readonly der: Buffer;
  /** The bytes that the signature covers. */
  readonly tbsCertificate: Buffer;
  /** 1, 2 or 3. */
  readonly version: number;
  /** Big-endian two's complement, as encoded; never negative. */
  readonly serialNumber: Buffer;
  /** Undefined when Signet cannot verify the algorithm. */
  readonly signatureAlgorithm: SignatureAlgorithm | undefined;
  readonly signature: Buffer;
  readonly issuer: DistinguishedName;
  readonly rawIssuer: Buffer;
  readonly subject: DistinguishedName;
  readonly rawSubject: Buffer;
  /** Milliseconds since the epoch; the certificate is valid at this instant. */
  readonly notBefore: number;
  /** Milliseconds since the epoch; the certificate is valid at this instant. */
  readonly notAfter: number;
  readonly publicKey: PublicKeyInfo;
  readonly extensions: readonly Extension[];
}

/** Parses exactly one DER certificate, at least as strictly as Go's `x509.ParseCertificate`. Throws PkiError. */
export function parseCertificate(der: Buffer): Certificate {
  const outer = new DerReader(der);
  const certificate = readCertificate(outer);
  if (!outer.isAtEnd) throw new PkiError("x509: trailing data");
  return certificate;
}

/** Parses certificates that are concatenated without separators. Throws PkiError. */
export function parseCertificates(der: Buffer): Certificate[] {
  const outer = new DerReader(der);
  const certificates: Certificate[] = [];
  while (!outer.isAtEnd) certificates.push(readCertificate(outer));
  return certificates;
}

/** Reads the next DER certificate. Throws PkiError. */
export function readCertificate(outer: DerReader): Certificate {
  const whole = withFault("malformed certificate", () => outer.readExpected(tags.sequence, "certificate"));
  const input = new DerReader(whole.content);
  const tbsElement = withFault("malformed tbs certificate", () => input.readExpected(tags.sequence, "tbsCertificate"));
  const tbs = new DerReader(tbsElement.content);
  const version = withFault("malformed version", () => readVersion(tbs));
  const serialNumber = withFault("malformed serial number", () => tbs.readInteger());
  if ((serialNumber[0] ?? 0) >= 0x80) throw new PkiError("x509: negative serial number");
  const innerAlgorithm = withFault("malformed signature algorithm identifier", () =>
    tbs.read(tags.sequence, "AlgorithmIdentifier"),
  );
  const outerAlgorithm = withFault("malformed algorithm identifier", () =>
    input.read(tags.sequence, "AlgorithmIdentifier"),
  );
  if (!innerAlgorithm.equals(outerAlgorithm)) {
    throw new PkiError("x509: inner and outer signature algorithm identifiers don't match");
  }
  const algorithm = withFault("malformed algorithm identifier", () => parseAlgorithmIdentifier(outerAlgorithm));
  const rawIssuer = withFault("malformed issuer", () => tbs.readWhole(tags.sequence, "Name"));
  const issuer = withFault("malformed issuer", () => parseDistinguishedName(rawIssuer));
  const validity = withFault("malformed validity", () => tbs.readSequence("validity"));
  const notBefore = readTime(validity);
  const notAfter = readTime(validity);
  withFault("malformed validity", () => validity.expectEnd());
  const rawSubject = withFault("malformed subject", () => tbs.readWhole(tags.sequence, "Name"));
  const subject = withFault("malformed subject", () => parseDistinguishedName(rawSubject));
  const spki = withFault("malformed spki", () => tbs.readWhole(tags.sequence, "publicKeyInfo"));
  const publicKey = withFault("malformed spki", () => parsePublicKeyInfo(spki));
  const extensions = withFault("malformed extensions", () => readExtensions(tbs, version));
  const signature = withFault("malformed signature", () => input.readBitString());
  if (signature.unusedBits !== 0) throw new PkiError("x509: malformed signature");
  withFault("malformed tbs certificate", () => tbs.expectEnd());
  withFault("malformed certificate", () => input.expectEnd());

  return {
    ...readCertificateExtensions(extensions),
    der: whole.bytes,
    tbsCertificate: tbsElement.bytes,
    version,
    serialNumber,
    signatureAlgorithm: signatureAlgorithmOf(algorithm),
    signature: signature.bytes,
    issuer,
    rawIssuer,
    subject,
    rawSubject,
    notBefore,
    notAfter,
    publicKey,
    extensions,
  };
}

function readVersion(tbs: DerReader): number {
  const explicit = tbs.readOptional(contextTag(0, "constructed"));
  if (explicit === undefined) return 1;
  const version = soleValue(explicit, (reader) => reader.readSmallInteger()) + 1;
  if (version < 1 || version > 3) throw new PkiError("x509: invalid version");
  return version;
}

function readExtensions(tbs: DerReader, version: number): Extension[] {
  if (version > 1) {
    for (const uniqueId of [
      tbs.readOptional(contextTag(1, "primitive")),
      tbs.readOptional(contextTag(2, "primitive")),
    ]) {
      // A BIT STRING starts with the number of its unused bits.
      if (uniqueId !== undefined && (uniqueId[0] ?? 8) > 7) throw new PkiError("x509: malformed unique identifier");
    }
  }
  const explicit = version === 3 ? tbs.readOptional(contextTag(3, "constructed")) : undefined;
  if (explicit === undefined) return [];
  return parseExtensions(
    explicit,
    (id) => `x509: certificate contains duplicate extension with OID ${JSON.stringify(id)}`,
  );
}

/** Whether a certificate is of a CA that may sign certificates (RFC 5280 4.2.1.3, 4.2.1.9). */
export const maySignCertificates = ({ isCA, keyUsages }: CertificateExtensions): boolean =>
  isCA && (keyUsages === undefined || keyUsages.includes("certSign"));

/** The serial number as lower-case hex without leading zeros. */
export const serialNumberHex = ({ serialNumber }: Pick<Certificate, "serialNumber">): string =>
  serialNumber.toString("hex").replace(/^0+(?=.)/, "");

/** The SHA-256 of the DER, as lower-case hex. */
export const fingerprintOf = ({ der }: Pick<Certificate, "der">): string => hash("sha256", der, "hex");
