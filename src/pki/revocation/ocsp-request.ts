import { isNull, parseAlgorithmIdentifier } from "../der/algorithm-identifier.ts";
import { contextTag, DerReader, soleSequence, soleValue, tags } from "../der/der.ts";
import { oids } from "../der/object-identifiers.ts";
import { PkiError } from "../pki-error.ts";
import { extensionValue, parseExtensions } from "../certificates/extension.ts";
import type { Extension } from "../certificates/extension.ts";

/** Identifies the certificate that a client asks about: its serial number, and hashes of its issuer (RFC 6960 section 4.1.1). */
export interface CertificateId {
  /** The whole CertID. An answer repeats it. */
  readonly der: Buffer;
  /** The object identifier of the hash. */
  readonly hashAlgorithm: string;
  readonly issuerNameHash: Buffer;
  readonly issuerKeyHash: Buffer;
  /** Big-endian two's complement, as encoded. */
  readonly serialNumber: Buffer;
}

export interface OcspRequest {
  /** At least one. */
  readonly certificateIds: readonly CertificateId[];
  /** 1 to 128 octets for the answer to repeat (RFC 9654). */
  readonly nonce: Buffer | undefined;
}

/** The most certificates of a request: clients ask about one certificate, or about a chain. */
export const maximumCertificateIds = 16;
const maximumNonceOctets = 128;
const maximumHashOctets = 64;

/**
 * Parses an OCSPRequest. The time is linear in its length, which the caller limits. The client's signature is not checked. Throws PkiError.
 */
export function parseOcspRequest(der: Buffer): OcspRequest {
  const request = soleSequence(der, "OCSPRequest");
  const tbs = request.readSequence("TBSRequest");
  request.readOptional(contextTag(0, "constructed"));
  request.expectEnd();

  const version = tbs.readOptional(contextTag(0, "constructed"));
  if (version !== undefined && new DerReader(version).readSmallInteger() !== 0) {
    throw new PkiError("ocsp: unsupported version");
  }
  tbs.readOptional(contextTag(1, "constructed"));
  const list = tbs.readSequence("requestList");
  const extensions = readExtensions(tbs.readOptional(contextTag(2, "constructed")));
  tbs.expectEnd();
  const certificateIds: CertificateId[] = [];
  while (!list.isAtEnd) {
    if (certificateIds.length === maximumCertificateIds) throw new PkiError("ocsp: too many certificates");
    certificateIds.push(readRequest(list.readSequence("Request")));
  }
  if (certificateIds.length === 0) throw new PkiError("ocsp: no certificate");
  return { certificateIds, nonce: nonceOf(extensions) };
}

function readRequest(request: DerReader): CertificateId {
  const { bytes: der, content } = request.readExpected(tags.sequence, "CertID");
  readExtensions(request.readOptional(contextTag(0, "constructed")));
  request.expectEnd();
  const id = new DerReader(content);
  const { algorithm: hashAlgorithm, parameters } = parseAlgorithmIdentifier(
    id.read(tags.sequence, "AlgorithmIdentifier"),
  );
  // Hash algorithms have no parameters (RFC 5754 section 2). If they were accepted, a certificate would have any number of CertIDs, each
  // with an answer of its own.
  if (parameters.length > 0 && !isNull(parameters)) throw new PkiError("ocsp: the hash has parameters");
  const issuerNameHash = id.read(tags.octetString, "");
  const issuerKeyHash = id.read(tags.octetString, "");
  const serialNumber = id.readInteger();
  id.expectEnd();
  if (issuerNameHash.length > maximumHashOctets || issuerKeyHash.length > maximumHashOctets) {
    throw new PkiError("ocsp: the hash is too long");
  }
  return { der, hashAlgorithm, issuerNameHash, issuerKeyHash, serialNumber };
}

function readExtensions(explicit: Buffer | undefined): readonly Extension[] {
  if (explicit === undefined) return [];
  const extensions = parseExtensions(explicit, (id) => `ocsp: duplicate extension ${id}`);
  const unknown = extensions.find(({ id, isCritical }) => isCritical && id !== oids.ocspNonce);
  if (unknown !== undefined) throw new PkiError(`ocsp: unknown critical extension ${unknown.id}`);
  return extensions;
}

/** The nonce of a request. Throws PkiError for an empty or too long one, which is malformed (RFC 9654 section 2.1). */
function nonceOf(extensions: readonly Extension[]): Buffer | undefined {
  const value = extensionValue(extensions, oids.ocspNonce);
  if (value === undefined) return undefined;
  const nonce = soleValue(value, (reader) => reader.read(tags.octetString, "Nonce"));
  if (nonce.length === 0 || nonce.length > maximumNonceOctets) throw new PkiError("ocsp: invalid length of the nonce");
  return nonce;
}
