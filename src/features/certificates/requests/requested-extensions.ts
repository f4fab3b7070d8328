import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { oids } from "../../../pki/object-identifiers.ts";
import { generalNameTags, readGeneralNames } from "../../../pki/subject-alt-names.ts";

const noAuthority: ReadonlySet<string> = new Set(["3000", "3003010100"]);

/**
 * Whether a request asks for a CA certificate: for basicConstraints that say anything but "no CA" (RFC 5280 4.2.1.9), in
 * whatever encoding. A signer that takes extensions over would grant it.
 */
export const requestsCaCertificate = ({ extensions }: CertificateRequest): boolean =>
  extensions.some(({ id, value }) => id === oids.basicConstraints && !noAuthority.has(value.toString("hex")));

const understoodTags: ReadonlySet<number> = new Set(Object.values(generalNameTags));

/**
 * How many subject alternative names are of kinds that nothing here reads, such as otherName, which holds user names. A
 * signer that takes extensions over would certify them.
 */
export function countUnsupportedNames({ extensions }: CertificateRequest): number {
  const names = extensions.find(({ id }) => id === oids.subjectAltName);
  return names === undefined ? 0 : readGeneralNames(names.value).filter(({ tag }) => !understoodTags.has(tag)).length;
}
