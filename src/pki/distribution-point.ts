import { contextTag } from "./der.ts";
import { encodeElement, encodeObjectIdentifier, encodeSequence } from "./der-writer.ts";
import { oids } from "./object-identifiers.ts";

/** A GeneralName that is a URI (RFC 5280 section 4.2.1.6): ASCII only. */
const encodeUri = (uri: string): Buffer => encodeElement(contextTag(6, "primitive"), Buffer.from(uri, "latin1"));

/** The field `distributionPoint` of a DistributionPoint or an IssuingDistributionPoint, with one URI. */
export const encodeDistributionPointName = (uri: string): Buffer =>
  encodeElement(contextTag(0, "constructed"), encodeElement(contextTag(0, "constructed"), encodeUri(uri)));

/** The value of the extension CRLDistributionPoints, with one URI (RFC 5280 section 4.2.1.13). */
export const encodeCrlDistributionPoints = (uri: string): Buffer =>
  encodeSequence(encodeSequence(encodeDistributionPointName(uri)));

/** The value of the extension AuthorityInfoAccess (RFC 5280 section 4.2.2.1). */
export function encodeAuthorityInfoAccess(access: { readonly issuer: string; readonly ocsp?: string }): Buffer {
  const description = (method: string, uri: string): Buffer =>
    encodeSequence(encodeObjectIdentifier(method), encodeUri(uri));
  return encodeSequence(
    ...(access.ocsp === undefined ? [] : [description(oids.ocsp, access.ocsp)]),
    description(oids.caIssuers, access.issuer),
  );
}
