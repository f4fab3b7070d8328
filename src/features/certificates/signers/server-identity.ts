import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { keyIdsMatch } from "../../../pki/certificates/certificate-chain.ts";
import { parseIpAddress } from "../../../pki/names/ip-address.ts";
import { hostNamesOf, serverNamesIn } from "./server-names.ts";
import type { HostNames, ServerNames } from "./server-names.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";

/** The API server's names and CAs, as its clients see them. */
export interface ServerIdentity {
  readonly names: ServerNames;
  /** The serving certificate with its chain, and the known CAs with which clients verify it. */
  readonly certificates: readonly Certificate[];
}

export interface ServerIdentityOptions {
  /** The serving certificate, then its chain. */
  readonly shown: readonly Certificate[];
  /** CAs that clients are configured to trust. */
  readonly trusted: readonly Certificate[];
  /** Names and addresses that clients use, even if the certificate does not contain them. */
  readonly hosts: readonly string[];
}

/** Builds the identity of the server that signers compare requests with. */
export function serverIdentity({ shown, trusted, hosts }: ServerIdentityOptions): ServerIdentity {
  const [leaf] = shown;
  const shownNames = leaf && hostNamesOf(leaf, []);
  const isAddress = (host: string): boolean => parseIpAddress(host) !== undefined;
  return {
    names: {
      dnsNames: [...(shownNames?.dnsNames ?? []), ...hosts.filter((host) => !isAddress(host))],
      ipAddresses: [...(shownNames?.ipAddresses ?? []), ...hosts.filter(isAddress)],
    },
    certificates: [...shown, ...trusted],
  };
}

/** Whether the server's clients trust a CA: it issued the server's certificate, or is configured as trusted. */
function isTrustedByClients({ certificate, anchors }: SigningAuthority, server: ServerIdentity): boolean {
  return [certificate, ...anchors].some((authority) =>
    server.certificates.some(
      (one) => one.publicKey.spki.equals(authority.publicKey.spki) || isIssuedBy(one, authority),
    ),
  );
}

const isIssuedBy = (one: Certificate, issuer: Certificate): boolean =>
  one.rawIssuer.equals(issuer.rawSubject) && keyIdsMatch(one, issuer);

/** Whether a client that trusts `anchors` also trusts a CA, because an anchor is the CA itself or signed it. */
export const isTrustedThrough = ({ path }: SigningAuthority, anchors: readonly Certificate[]): boolean =>
  path.some((authority) =>
    anchors.some((anchor) => anchor.publicKey.spki.equals(authority.publicKey.spki) || isIssuedBy(authority, anchor)),
  );

/**
 * Returns the requested names that a CA must not sign, one sentence each, even if approved: with such a certificate,
 * the holder could impersonate the API server.
 */
export const serverNameFaults = (
  wanted: HostNames,
  { authority, server }: { readonly authority: SigningAuthority; readonly server: ServerIdentity },
): string[] =>
  isTrustedByClients(authority, server)
    ? serverNamesIn(wanted, server.names).map(
        (name) =>
          `${JSON.stringify(name)} is a name of the API server, and its clients trust this signer's CA: give the signer a separate CA`,
      )
    : [];
