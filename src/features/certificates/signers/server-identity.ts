import type { Certificate } from "../../../pki/certificate.ts";
import { parseIpAddress } from "../../../pki/ip-address.ts";
import type { SubjectAltNames } from "../../../pki/subject-alt-names.ts";
import { serverNamesIn } from "./server-names.ts";
import type { ServerNames } from "./server-names.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";

/** How clients know the API server. */
export interface ServerIdentity {
  readonly names: ServerNames;
  /** The serving certificate with its chain, and the CAs that clients verify it with as far as they are known. */
  readonly certificates: readonly Certificate[];
}

export interface ServerIdentityOptions {
  /** What the server shows: its certificate, then its chain. */
  readonly shown: readonly Certificate[];
  /** CAs that clients are told to trust. */
  readonly trusted: readonly Certificate[];
  /** Names and addresses that clients use, whether or not the certificate holds them. */
  readonly hosts: readonly string[];
}

/** What a server shows to its clients, as the signers look at it. */
export function serverIdentity({ shown, trusted, hosts }: ServerIdentityOptions): ServerIdentity {
  const leaf = shown[0]?.subjectAltNames;
  const isAddress = (host: string): boolean => parseIpAddress(host) !== undefined;
  return {
    names: {
      dnsNames: [...(leaf?.dnsNames ?? []), ...hosts.filter((host) => !isAddress(host))],
      ipAddresses: [...(leaf?.ipAddresses ?? []), ...hosts.filter(isAddress)],
    },
    certificates: [...shown, ...trusted],
  };
}

/** Whether the server's clients believe what a CA signs: it signed the server's certificate, or is one that they trust. */
function isBelievedByClients({ certificate, anchors }: SigningAuthority, server: ServerIdentity): boolean {
  return [certificate, ...anchors].some((authority) =>
    server.certificates.some(
      (one) => one.publicKey.spki.equals(authority.publicKey.spki) || isIssuedBy(one, authority),
    ),
  );
}

const isIssuedBy = ({ rawIssuer, authorityKeyId }: Certificate, { rawSubject, subjectKeyId }: Certificate): boolean =>
  rawIssuer.equals(rawSubject) &&
  (subjectKeyId === undefined || authorityKeyId === undefined || authorityKeyId.equals(subjectKeyId));

/** Whether who believes one of `anchors` believes what a CA signs: it is one of them, or one of them signed it. */
export const isTrustedThrough = ({ path }: SigningAuthority, anchors: readonly Certificate[]): boolean =>
  path.some((authority) =>
    anchors.some((anchor) => anchor.publicKey.spki.equals(authority.publicKey.spki) || isIssuedBy(authority, anchor)),
  );

/**
 * Why a CA must not sign names for a server, one sentence each, whoever approved: its certificates would be taken for the API
 * server's own.
 */
export const serverNameViolations = (
  wanted: SubjectAltNames,
  { authority, server }: { readonly authority: SigningAuthority; readonly server: ServerIdentity },
): string[] =>
  isBelievedByClients(authority, server)
    ? serverNamesIn(wanted, server.names).map(
        (name) =>
          `${JSON.stringify(name)} is a name of the API server, whose clients believe this signer's CA: give the signer a CA of its own`,
      )
    : [];
