import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { oids } from "../../../pki/object-identifiers.ts";
import { generalNameTags, readGeneralNames } from "../../../pki/subject-alt-names.ts";

const noAuthority: ReadonlySet<string> = new Set(["3000", "3003010100"]);

/**
 * Whether a request contains basicConstraints that are not exactly "no CA" (RFC 5280 4.2.1.9), in any encoding. A
 * signer that copies extensions would issue a CA certificate.
 */
export const requestsCaCertificate = ({ extensions }: CertificateRequest): boolean =>
  extensions.some(({ id, value }) => id === oids.basicConstraints && !noAuthority.has(value.toString("hex")));

const understoodTags: ReadonlySet<number> = new Set(Object.values(generalNameTags));

/**
 * The number of subject alternative names of types that Signet does not read, such as otherName, which may contain user
 * names. A signer that copies extensions would certify them.
 */
export function countUnsupportedNames({ extensions }: CertificateRequest): number {
  const names = extensions.find(({ id }) => id === oids.subjectAltName);
  return names === undefined ? 0 : readGeneralNames(names.value).filter(({ tag }) => !understoodTags.has(tag)).length;
}
