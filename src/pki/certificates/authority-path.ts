import type { Certificate } from "./certificate.ts";
import { issuerFault, keyIdsMatch } from "./certificate-chain.ts";
import { formatDistinguishedName } from "../names/distinguished-name.ts";
import { oids } from "../der/object-identifiers.ts";
import { PkiError } from "../pki-error.ts";

/** Whether a certificate names itself as its issuer: a root, or a self-issued CA that replaces one (RFC 5280 section 3.2). */
export const isSelfIssued = ({ rawIssuer, rawSubject }: Certificate): boolean => rawIssuer.equals(rawSubject);

/**
 * Critical extensions that some clients know although Signet does not: policies and names of other kinds (RFC 5280 section 4.2.1), and the
 * others that OpenSSL knows (`X509_supported_extension`).
 */
const extensionsForClients: ReadonlySet<string> = new Set([
  ...[oids.policyConstraints, oids.policyMappings],
  ...[oids.nameConstraints, oids.subjectAltName],
  ...[oids.netscapeCertificateType, oids.ipAddressBlocks, oids.autonomousSystems, oids.ocspNoCheck],
]);

/**
 * The path from the first of `certificates`, a signing CA, up to the highest of its issuers among the others, which may be in any order.
 * Throws PkiError when clients would refuse this path: an issuer did not sign the certificate below it, may not sign it, or allows fewer
 * CAs below it; or a CA has a critical extension that no client knows. Does not check validity times.
 */
export function authorityPath(certificates: readonly Certificate[]): readonly Certificate[] {
  const [first, ...others] = certificates;
  if (first === undefined) throw new PkiError("there is no certificate");
  const path = [first];
  const nameOf = (one: Certificate): string => certificateName(certificates, one);
  for (let last = first; !isSelfIssued(last);) {
    const named = others.filter(
      (other) => other.rawSubject.equals(last.rawIssuer) && keyIdsMatch(last, other) && !path.includes(other),
    );
    const issuer = named.find((other) => issuerFault(last, other) === undefined);
    if (issuer === undefined) {
      const [wrong] = named;
      if (wrong === undefined) break;
      const reason = issuerFault(last, wrong) ?? "";
      throw new PkiError(`${nameOf(wrong)} did not issue ${nameOf(last)}: ${reason}; put the right one in its place`);
    }
    path.push(issuer);
    last = issuer;
  }
  for (const [below, one] of path.entries()) {
    const unknown = one.unhandledCriticalExtensions.find((id) => !extensionsForClients.has(id));
    if (unknown !== undefined) {
      throw new PkiError(
        `${nameOf(one)} has the critical extension ${unknown}, so clients refuse what it signs: make it again without that, ` +
          "or let another CA sign",
      );
    }
    const { maxPathLength } = one;
    if (maxPathLength !== undefined && below > maxPathLength) {
      throw new PkiError(
        `${nameOf(one)} has the path length ${maxPathLength}, but ${below} CAs are below it: make it again with a greater one, ` +
          "or let a CA sign that is higher",
      );
    }
  }
  return path;
}

/**
 * Why clients refuse the certificates of a CA at a time, in milliseconds since the epoch: the CA, or a CA above it, is not valid then.
 * Undefined: they do not refuse them.
 */
export function validityFault(path: readonly Certificate[], now: number): string | undefined {
  for (const one of path) {
    const time = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
    if (one.notAfter < now) return `${certificateName(path, one)} ended at ${time(one.notAfter)}: renew it`;
    if (one.notBefore > now) {
      return `${certificateName(path, one)} begins only at ${time(one.notBefore)}: wait, or set the clock of this machine`;
    }
  }
  return undefined;
}

/** The name of a certificate of a file in messages: its number and its subject. */
export const certificateName = (certificates: readonly Certificate[], one: Certificate): string =>
  `certificate ${certificates.indexOf(one) + 1} (${formatDistinguishedName(one.subject)})`;
