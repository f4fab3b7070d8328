import { parseAlgorithmIdentifier, checkAnyValue } from "../der/algorithm-identifier.ts";
import { checkSignature, checkSignatureInThreadPool } from "../keys/check-signature.ts";
import type { SignedData } from "../keys/check-signature.ts";
import { contextTag, DerReader, tags } from "../der/der.ts";
import type { DerElement } from "../der/der.ts";
import { parseDistinguishedName } from "../names/distinguished-name.ts";
import type { DistinguishedName } from "../names/distinguished-name.ts";
import { oids } from "../der/object-identifiers.ts";
import { decodeFirstPemBlock } from "../pem.ts";
import { PkiError } from "../pki-error.ts";
import { parsePublicKeyInfo } from "../keys/public-key.ts";
import type { PublicKeyInfo } from "../keys/public-key.ts";
import { signatureAlgorithmOf } from "../keys/signature-algorithm.ts";
import type { SignatureAlgorithm } from "../keys/signature-algorithm.ts";
import { noSubjectAltNames, parseSubjectAltNames } from "../names/subject-alt-names.ts";
import type { SubjectAltNames } from "../names/subject-alt-names.ts";
import { RecentlyParsed } from "../recently-parsed.ts";
import { extensionValue, maximumExtensions, parseExtensions } from "../certificates/extension.ts";
import type { Extension } from "../certificates/extension.ts";

/** A PKCS #10 certificate request (RFC 2986). Immutable. */
export interface CertificateRequest {
  readonly subject: DistinguishedName;
  readonly publicKey: PublicKeyInfo;
  readonly subjectAltNames: SubjectAltNames;
  /** All requested extensions, including the subject alternative names. */
  readonly extensions: readonly Extension[];
  /**
   * Why other programs may read the request differently, or read more in it; one sentence each. Their signers would certify what they read.
   */
  readonly ambiguities: readonly string[];
  /** Undefined when Signet cannot verify the algorithm. */
  readonly signatureAlgorithm: SignatureAlgorithm | undefined;
  /** The bytes that the signature covers. */
  readonly certificationRequestInfo: Buffer;
  readonly signature: Buffer;
}

/**
 * Parses the first PEM block, which must be a `CERTIFICATE REQUEST`. Later blocks are ignored, as upstream does. Does
 * not check the signature: see `checkRequestSignature`. Throws PkiError with upstream's message.
 */
export function parseCertificateRequestPem(pem: string | Uint8Array): CertificateRequest {
  const block = decodeFirstPemBlock(pem);
  if (block?.type !== "CERTIFICATE REQUEST") throw new PkiError("PEM block type must be CERTIFICATE REQUEST");
  const request = parseCertificateRequest(block.bytes);
  return isOnePlainBlock(Buffer.from(pem).toString("latin1"))
    ? request
    : { ...request, ambiguities: [...request.ambiguities, notOnePlainBlock] };
}

const notOnePlainBlock = "it is not one plain PEM block, and programs disagree about which they read";

/**
 * Whether a text is a single plain PEM block. OpenSSL and keytool find blocks that Go skips, such as a block with a control character or a
 * colon in its first line.
 */
function isOnePlainBlock(pem: string): boolean {
  const [, block = "", ...others] = pem.split("-----BEGIN");
  const plain =
    /^ CERTIFICATE REQUEST-----[ \t]*\r?\n(?:[A-Za-z0-9+/=]+[ \t]*\r?\n)+-----END CERTIFICATE REQUEST-----[ \t]*(?:\r?\n|$)/;
  return others.length === 0 && plain.test(block);
}

/** Parses a DER request, at least as strictly as Go's `x509.ParseCertificateRequest`. Throws PkiError. */
export function parseCertificateRequest(der: Buffer): CertificateRequest {
  const outer = new DerReader(der);
  const request = outer.readSequence("certificateRequest");
  const info = request.readExpected(tags.sequence, "tbsCertificateRequest");
  const reader = new DerReader(info.content);
  reader.readSmallInteger();
  const subject = reader.readElement();
  const spki = reader.readExpected(tags.sequence, "publicKeyInfo");
  const attributes = reader.read(contextTag(0, "constructed"), "");
  const algorithm = parseAlgorithmIdentifier(request.read(tags.sequence, "AlgorithmIdentifier"));
  const signature = request.readBitString();
  for (const end of [outer, request, reader]) end.expectEnd();
  if (signature.unusedBits !== 0) throw new PkiError("x509: malformed signature");

  const publicKey = parsePublicKeyInfo(spki.bytes);
  const { extensions, ambiguities } = requestedExtensions(attributes);
  const names = extensionValue(extensions, oids.subjectAltName);
  return {
    subject: parseDistinguishedName(subject.bytes),
    publicKey,
    subjectAltNames: names === undefined ? noSubjectAltNames : parseSubjectAltNames(names),
    extensions,
    ambiguities,
    signatureAlgorithm: signatureAlgorithmOf(algorithm),
    certificationRequestInfo: info.bytes,
    signature: signature.bytes,
  };
}

/** The most values of all attributes together. Real requests have at most about five, so more are an attack. */
const maximumAttributeValues = 256;

/** Collects the extensions of all extensionRequest attributes (RFC 2985 5.4.2). Other attributes must only be well-formed. */
function requestedExtensions(attributes: Buffer): Pick<CertificateRequest, "extensions" | "ambiguities"> {
  const reader = new DerReader(attributes);
  const extensions: Extension[] = [];
  let hasMicrosoftExtensions = false;
  let count = 0;
  while (!reader.isAtEnd) {
    const attribute = reader.readSequence("Attribute");
    const type = attribute.readObjectIdentifier();
    const values = readValues(attribute.read(tags.set, ""), maximumAttributeValues - count);
    attribute.expectEnd();
    // An attribute without a value takes time too.
    count += Math.max(1, values.length);
    hasMicrosoftExtensions ||= type === oids.microsoftExtensionRequest;
    const [list] = values;
    if (type !== oids.extensionRequest || list === undefined) continue;
    if (values.length > 1) throw new PkiError("asn1: syntax error: trailing data");
    extensions.push(...parseExtensions(list.bytes, () => duplicateExtensions));
    if (extensions.length > maximumExtensions) throw new PkiError("x509: too many extensions");
  }
  if (new Set(extensions.map(({ id }) => id)).size < extensions.length) throw new PkiError(duplicateExtensions);
  return { extensions, ambiguities: hasMicrosoftExtensions ? [inMicrosoftAttribute] : [] };
}

/** OpenSSL and Microsoft's CAs read extensions in this attribute. Go and Signet do not. */
const inMicrosoftAttribute = "it has extensions in Microsoft's attribute, which only some programs read";

function readValues(set: Buffer, mostValues: number): DerElement[] {
  const reader = new DerReader(set);
  const values: DerElement[] = [];
  if (mostValues <= 0) throw tooManyValues();
  while (!reader.isAtEnd) {
    if (values.length === mostValues) throw tooManyValues();
    const value = reader.readElement();
    checkAnyValue(value);
    values.push(value);
  }
  return values;
}

const tooManyValues = (): PkiError => new PkiError("x509: too many attributes in a certificate request");
const duplicateExtensions = "x509: certificate request contains duplicate requested extensions";

/**
 * Throws PkiError unless the request is signed with the private key of the public key in it (RFC 2986 3: proof of
 * possession).
 */
export const checkRequestSignature = (request: CertificateRequest): void => checkSignature(signedDataOf(request));

/** Requests with a correct signature. Requests never change. */
const checked = new WeakSet<CertificateRequest>();

/** Checks a request like `checkRequestSignature`, but in the thread pool, and only once for a request. Rejects instead of throwing. */
export async function checkRequestSignatureInThreadPool(request: CertificateRequest): Promise<void> {
  if (checked.has(request)) return;
  await checkSignatureInThreadPool(signedDataOf(request));
  checked.add(request);
}

const signedDataOf = (request: CertificateRequest): SignedData => ({
  signed: request.certificationRequestInfo,
  signature: request.signature,
  algorithm: request.signatureAlgorithm,
  publicKey: request.publicKey,
  sha1: "allowed",
});

const recent = new RecentlyParsed<CertificateRequest>(256);

/**
 * Parses the `spec.request` of a CertificateSigningRequest: a PEM file in base64. Throws PkiError. The last results are remembered, because
 * admission, validation, approval and signing parse the same text one after the other.
 */
export const parseRequestField = (base64: string): CertificateRequest =>
  recent.get(base64) ?? recent.add(base64, parseCertificateRequestPem(Buffer.from(base64, "base64")));
