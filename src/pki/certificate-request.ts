import { parseAlgorithmIdentifier } from "./algorithm-identifier.ts";
import { checkAnyValue } from "./any-value.ts";
import { checkSignature } from "./check-signature.ts";
import { contextTag, type DerElement, DerReader, tags } from "./der.ts";
import { parseDistinguishedName, type DistinguishedName } from "./distinguished-name.ts";
import { parseExtensions, type Extension } from "./extension.ts";
import { oids } from "./object-identifiers.ts";
import { decodeFirstPemBlock } from "./pem.ts";
import { PkiError } from "./pki-error.ts";
import { parsePublicKeyInfo, type PublicKeyInfo } from "./public-key.ts";
import { signatureAlgorithmOf, type SignatureAlgorithm } from "./signature-algorithm.ts";
import { noSubjectAltNames, parseSubjectAltNames, type SubjectAltNames } from "./subject-alt-names.ts";

/** A PKCS #10 request (RFC 2986). Never changed once made. */
export interface CertificateRequest {
  readonly subject: DistinguishedName;
  readonly publicKey: PublicKeyInfo;
  readonly subjectAltNames: SubjectAltNames;
  /** Every requested extension, the subject alternative names included. */
  readonly extensions: readonly Extension[];
  /** Undefined: one that nothing here verifies. */
  readonly signatureAlgorithm: SignatureAlgorithm | undefined;
  /** What the signature covers. */
  readonly certificationRequestInfo: Buffer;
  readonly signature: Buffer;
}

/**
 * Reads the first PEM block, which must be a `CERTIFICATE REQUEST`; other blocks after it are ignored, as upstream does.
 * The signature is not checked: that is `checkRequestSignature`. Throws PkiError with upstream's message.
 */
export function parseCertificateRequestPem(pem: string | Uint8Array): CertificateRequest {
  const block = decodeFirstPemBlock(pem);
  if (block?.type !== "CERTIFICATE REQUEST") throw new PkiError("PEM block type must be CERTIFICATE REQUEST");
  return parseCertificateRequest(block.bytes);
}

/** Reads a request from its DER, with Go's `x509.ParseCertificateRequest` strictness or more. Throws PkiError. */
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
  const extensions = requestedExtensions(attributes);
  const names = extensions.find(({ id }) => id === oids.subjectAltName);
  return {
    subject: parseDistinguishedName(subject.bytes),
    publicKey,
    subjectAltNames: names === undefined ? noSubjectAltNames : parseSubjectAltNames(names.value),
    extensions,
    signatureAlgorithm: signatureAlgorithmOf(algorithm),
    certificationRequestInfo: info.bytes,
    signature: signature.bytes,
  };
}

/** The extensions of every extensionRequest attribute (RFC 2985 5.4.2); attributes of other kinds need only be well-formed. */
function requestedExtensions(attributes: Buffer): Extension[] {
  const reader = new DerReader(attributes);
  const extensions: Extension[] = [];
  while (!reader.isAtEnd) {
    const attribute = reader.readSequence("Attribute");
    const type = attribute.readObjectIdentifier();
    const values = readValues(attribute.read(tags.set, ""));
    attribute.expectEnd();
    const [list] = values;
    if (type !== oids.extensionRequest || list === undefined) continue;
    if (values.length > 1) throw new PkiError("asn1: syntax error: trailing data");
    extensions.push(...parseExtensions(new DerReader(list.bytes).read(tags.sequence, ""), () => duplicateExtensions));
  }
  if (new Set(extensions.map(({ id }) => id)).size < extensions.length) throw new PkiError(duplicateExtensions);
  return extensions;
}

function readValues(set: Buffer): DerElement[] {
  const reader = new DerReader(set);
  const values: DerElement[] = [];
  while (!reader.isAtEnd) {
    const value = reader.readElement();
    checkAnyValue(value);
    values.push(value);
  }
  return values;
}

const duplicateExtensions = "x509: certificate request contains duplicate requested extensions";

/** Throws PkiError unless the request is signed with the key that it carries (RFC 2986 3: proof of possession). */
export function checkRequestSignature(request: CertificateRequest): void {
  checkSignature({
    signed: request.certificationRequestInfo,
    signature: request.signature,
    algorithm: request.signatureAlgorithm,
    publicKey: request.publicKey,
    sha1: "allowed",
  });
}
