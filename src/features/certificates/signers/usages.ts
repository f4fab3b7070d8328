import type { ExtendedKeyUsageName } from "../../../pki/der/object-identifiers.ts";
import { keyUsageNames } from "../../../pki/certificates/certificate-extensions.ts";
import type { KeyUsageName } from "../../../pki/certificates/certificate-extensions.ts";

/** The key usages in a certificate for the usages of a CertificateSigningRequest. */
export interface CertificateUsages {
  readonly keyUsages: readonly KeyUsageName[];
  readonly extendedKeyUsages: readonly ExtendedKeyUsageName[];
}

const keyUsageOf = new Map<string, KeyUsageName>([
  ["signing", "digitalSignature"],
  ["digital signature", "digitalSignature"],
  ["content commitment", "contentCommitment"],
  ["key encipherment", "keyEncipherment"],
  ["key agreement", "keyAgreement"],
  ["data encipherment", "dataEncipherment"],
  ["cert sign", "certSign"],
  ["crl sign", "crlSign"],
  ["encipher only", "encipherOnly"],
  ["decipher only", "decipherOnly"],
]);

const extendedKeyUsageOf = new Map<string, ExtendedKeyUsageName>([
  ["any", "any"],
  ["server auth", "serverAuth"],
  ["client auth", "clientAuth"],
  ["code signing", "codeSigning"],
  ["email protection", "emailProtection"],
  ["s/mime", "emailProtection"],
  ["ipsec end system", "ipsecEndSystem"],
  ["ipsec tunnel", "ipsecTunnel"],
  ["ipsec user", "ipsecUser"],
  ["timestamping", "timeStamping"],
  ["ocsp signing", "ocspSigning"],
  ["microsoft sgc", "microsoftServerGatedCrypto"],
  ["netscape sgc", "netscapeServerGatedCrypto"],
]);

/** The usages of CAs. */
export const authorityUsages: readonly string[] = ["cert sign", "crl sign"];

/** The usages of CAs, the usage of OCSP responders (RFC 6960 section 4.2.2.2), and the usage for every purpose. */
export const powerfulUsages: readonly string[] = [...authorityUsages, "ocsp signing", "any"];

const extendedKeyUsageNames = [...new Set(extendedKeyUsageOf.values())];

/**
 * Converts usages, without duplicates, in the order of their numbers. `unrecognized` lists the values that are not among the 23 known
 * usages.
 */
export function certificateUsagesOf(
  usages: readonly string[],
): CertificateUsages & { readonly unrecognized: readonly string[] } {
  // No key usage has the name of an extended one.
  const names = new Set(usages.map((usage) => keyUsageOf.get(usage) ?? extendedKeyUsageOf.get(usage)));
  return {
    keyUsages: keyUsageNames.filter((name) => names.has(name)),
    extendedKeyUsages: extendedKeyUsageNames.filter((name) => names.has(name)),
    unrecognized: usages.filter((usage) => !keyUsageOf.has(usage) && !extendedKeyUsageOf.has(usage)),
  };
}
