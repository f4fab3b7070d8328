import { contextTag, soleSequence, tags } from "../der/der.ts";
import {
  encodedTrue,
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeElement,
  encodeTagged,
} from "../der/der-writer.ts";
import { PkiError } from "../pki-error.ts";
import { oids } from "../der/object-identifiers.ts";

/** One extension of a certificate or a request (RFC 5280 4.1). */
export interface Extension {
  readonly id: string;
  readonly isCritical: boolean;
  readonly value: Buffer;
}

/** The most extensions. Real certificates have at most about twenty, so more are an attack. */
export const maximumExtensions = 256;

/** Parses an Extensions sequence from its whole encoding. `duplicateMessage` returns the error message for a repeated id. */
export function parseExtensions(encoded: Buffer, duplicateMessage: (id: string) => string): Extension[] {
  const reader = soleSequence(encoded, "");
  const extensions: Extension[] = [];
  const seen = new Set<string>();
  while (!reader.isAtEnd) {
    const extension = reader.readSequence("Extension");
    const id = extension.readObjectIdentifier();
    const isCritical = extension.nextTag === tags.boolean ? extension.readBoolean() : false;
    const value = extension.read(tags.octetString, "");
    extension.expectEnd();
    if (seen.has(id)) throw new PkiError(duplicateMessage(id));
    if (seen.size === maximumExtensions) throw new PkiError("x509: too many extensions");
    seen.add(id);
    extensions.push({ id, isCritical, value });
  }
  return extensions;
}

/** The value of the extension with an identifier. Undefined when there is none. */
export const extensionValue = (extensions: readonly Extension[], id: string): Buffer | undefined =>
  extensions.find((extension) => extension.id === id)?.value;

export const encodeExtension = ({ id, isCritical, value }: Extension): Buffer =>
  isCritical
    ? encodeSequence(encodeObjectIdentifier(id), encodedTrue, encodeOctetString(value))
    : encodeSequence(encodeObjectIdentifier(id), encodeOctetString(value));

/** The value of the extension AuthorityKeyIdentifier, with only the key identifier (RFC 5280 section 4.2.1.1). */
export const encodeAuthorityKeyId = (keyId: Buffer): Buffer =>
  encodeSequence(encodeElement(contextTag(0, "primitive"), keyId));

/** Encodes a URI as a GeneralName (RFC 5280 section 4.2.1.6). ASCII only. */
const encodeUri = (uri: string): Buffer => encodeElement(contextTag(6, "primitive"), Buffer.from(uri, "latin1"));

/** Encodes the field `distributionPoint` of a DistributionPoint or an IssuingDistributionPoint: all URIs are for the same list. */
export const encodeDistributionPointName = (uris: readonly string[]): Buffer =>
  encodeTagged(0, encodeTagged(0, ...uris.map(encodeUri)));

/** The value of the extension CRLDistributionPoints, with one URI (RFC 5280 section 4.2.1.13). */
export const encodeCrlDistributionPoints = (uri: string): Buffer =>
  encodeSequence(encodeSequence(encodeDistributionPointName([uri])));

/** The value of the extension AuthorityInfoAccess (RFC 5280 section 4.2.2.1). */
export function encodeAuthorityInfoAccess(access: { readonly issuer: string; readonly ocsp?: string }): Buffer {
  const description = (method: string, uri: string): Buffer =>
    encodeSequence(encodeObjectIdentifier(method), encodeUri(uri));
  return encodeSequence(
    ...(access.ocsp === undefined ? [] : [description(oids.ocsp, access.ocsp)]),
    description(oids.caIssuers, access.issuer),
  );
}
