import { readCertificateExtensions } from "../../../pki/certificates/certificate-extensions.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { extensionValue } from "../../../pki/certificates/extension.ts";
import { extendedKeyUsages, oids } from "../../../pki/der/object-identifiers.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { generalNameTags, readGeneralNames } from "../../../pki/names/subject-alt-names.ts";
import { certificateUsagesOf, powerfulUsages } from "../signers/usages.ts";

const noAuthority: ReadonlySet<string> = new Set(["3000", "3003010100"]);

/**
 * Whether a request contains basicConstraints other than exactly "no CA" (RFC 5280 4.2.1.9), in any encoding. A signer that copies
 * extensions would issue a CA certificate.
 */
export const requestsCaCertificate = ({ extensions }: CertificateRequest): boolean =>
  extensions.some(({ id, value }) => id === oids.basicConstraints && !noAuthority.has(value.toString("hex")));

const understoodTags: ReadonlySet<number> = new Set(Object.values(generalNameTags));

/**
 * The number of subject alternative names of types that Signet does not read, such as otherName, which may contain user
 * names. A signer that copies extensions would certify them.
 */
export function countUnsupportedNames({ extensions }: CertificateRequest): number {
  const names = extensionValue(extensions, oids.subjectAltName);
  return names === undefined ? 0 : readGeneralNames(names).filter(({ tag }) => !understoodTags.has(tag)).length;
}

/** The powerful usages that a request's extensions ask for, whatever its `spec.usages` are: the signer may copy extensions. */
export function requestedPowers({ extensions }: CertificateRequest): readonly string[] {
  const limiting = extensions.filter(({ id }) => id === oids.keyUsage || id === oids.extendedKeyUsage);
  const asked = orPkiError(() => readCertificateExtensions(limiting));
  if (asked instanceof PkiError) return powerfulUsages; // a signer may read extensions that this server cannot read
  return powerfulUsages.filter((power) => {
    const { keyUsages, extendedKeyUsages: purposes } = certificateUsagesOf([power]);
    return (
      keyUsages.some((usage) => asked.keyUsages?.includes(usage)) ||
      purposes.some((purpose) => asked.extendedKeyUsages?.includes(extendedKeyUsages[purpose]))
    );
  });
}
