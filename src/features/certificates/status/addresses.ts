import { hash } from "node:crypto";
import { keyIdentifier } from "../../../pki/keys/keys.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import type { RevocationUrls } from "../../../pki/certificates/certificate-template.ts";
import type { RevocationSettings } from "../settings.ts";

/** The path below which CA certificates, revocation lists and OCSP are served. */
export const revocationPath = "/pki/";

/** The id of a CA in addresses. All CA certificates of one key have the same id. */
export const authorityId = ({ publicKey }: Pick<Certificate, "publicKey">): string =>
  keyIdentifier(publicKey).toString("hex");

/** The names of the parts of a list. They can never change, because certificates contain them. */
export const shards: readonly string[] = Array.from("0123456789abcdef");

/** The part of the list for a certificate: the first digit of the SHA-256 of its serial number without leading zeros. */
export function shardOf(serialNumber: Buffer): string {
  let start = 0;
  while (start < serialNumber.length - 1 && serialNumber[start] === 0) start++;
  return hash("sha256", serialNumber.subarray(start), "hex").charAt(0);
}

/** The address of a CA's list, or of a part of it, below `revocationPath`. */
export const listAddress = (id: string, shard: string | undefined): string =>
  shard === undefined ? `crl/${id}.crl` : `crl/${id}/${shard}.crl`;

export const issuerAddress = (id: string): string => `ca/${id}.crt`;

export const ocspAddress = "ocsp";

/** Whether verifiers accept a list that this CA has signed (RFC 5280 section 4.2.1.3). */
export const maySignLists = ({ keyUsages }: Pick<Certificate, "keyUsages">): boolean =>
  keyUsages === undefined || keyUsages.includes("crlSign");

interface CertificateUrlsOptions extends Pick<RevocationSettings, "url" | "isSharded"> {
  /** Whether servers can answer OCSP for this CA, which requires its key. */
  readonly hasOcsp: boolean;
  /** The CA's certificate. */
  readonly issuer: Certificate;
}

/** Returns a function for the revocation URLs in a CA's certificates. */
export function certificateUrls({
  url,
  isSharded,
  hasOcsp,
  issuer,
}: CertificateUrlsOptions): (serialNumber: Buffer) => RevocationUrls {
  const base = `${url}${revocationPath}`;
  const id = authorityId(issuer);
  return (serialNumber) => ({
    ...(maySignLists(issuer) && { crl: base + listAddress(id, isSharded ? shardOf(serialNumber) : undefined) }),
    ...(hasOcsp && { ocsp: base + ocspAddress }),
    issuer: base + issuerAddress(id),
  });
}
