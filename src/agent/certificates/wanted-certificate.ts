import { hash } from "node:crypto";
import { signerNames } from "../../features/certificates/resources.ts";
import type { Names } from "../../machinery/api/names.ts";
import { nodesGroup, nodeUsernamePrefix } from "../../machinery/api/user-info.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { keyTypeOf } from "../../pki/keys/keys.ts";
import type { KeyType } from "../../pki/keys/keys.ts";
import { extendedKeyUsages } from "../../pki/der/object-identifiers.ts";
import { noSubjectAltNames } from "../../pki/names/subject-alt-names.ts";
import type { SubjectAltNames } from "../../pki/names/subject-alt-names.ts";
import type { ServiceCertificate } from "../agent-settings.ts";

/** What a certificate must contain, and who signs it. */
export interface WantedCertificate {
  readonly signerName: string;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly subjectAltNames: SubjectAltNames;
  readonly usages: readonly string[];
  readonly keyType: KeyType;
}

/** The names and addresses that a machine is reached by. */
export interface MachineNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

type NamedMachine = MachineNames & { readonly nodeName: string };

const subjectOf = (nodeName: string) => ({
  commonName: `${nodeUsernamePrefix}${nodeName}`,
  organizations: [nodesGroup],
});

export const wantedClientCertificate = (names: Names, nodeName: string): WantedCertificate => ({
  ...subjectOf(nodeName),
  signerName: signerNames.apiserverClientNodeAgent(names),
  subjectAltNames: noSubjectAltNames,
  usages: ["digital signature", "client auth"],
  keyType: "ECDSA P-256",
});

export const wantedServingCertificate = (
  names: Names,
  { nodeName, dnsNames, ipAddresses }: NamedMachine,
): WantedCertificate => ({
  ...subjectOf(nodeName),
  signerName: signerNames.nodeAgentServing(names),
  subjectAltNames: { ...noSubjectAltNames, dnsNames, ipAddresses },
  usages: ["digital signature", "server auth"],
  keyType: "ECDSA P-256",
});

/**
 * The wanted certificate of a service on a machine. In its names, `${node}` stands for the Node's name. `${address}`, as an entry of its
 * own, stands for all addresses of the machine.
 */
export function wantedServiceCertificate(service: ServiceCertificate, machine: NamedMachine): WantedCertificate {
  const fill = (text: string): string => text.replaceAll("${node}", machine.nodeName);
  return {
    signerName: service.signerName,
    commonName: fill(service.commonName),
    organizations: service.organizations.map(fill),
    subjectAltNames: {
      dnsNames: service.dnsNames.map(fill),
      ipAddresses: service.ipAddresses.flatMap((text) => (text === "${address}" ? machine.ipAddresses : [text])),
      emailAddresses: service.emailAddresses.map(fill),
      uris: service.uris.map(fill),
    },
    usages: service.usages,
    keyType: service.keyType,
  };
}

/** Whether a certificate contains everything that is wanted, except usages. A signer may add names and leave out usages. */
export function isCertificateFor(certificate: Certificate, wanted: WantedCertificate): boolean {
  const { subject, subjectAltNames, publicKey } = certificate;
  return (
    keyTypeOf(publicKey) === wanted.keyType &&
    isSubjectOf(subject, wanted) &&
    (["dnsNames", "ipAddresses", "emailAddresses", "uris"] as const).every((kind) =>
      wanted.subjectAltNames[kind].every((name) => subjectAltNames[kind].includes(name)),
    )
  );
}

const tlsUsages = [
  ["client auth", extendedKeyUsages.clientAuth],
  ["server auth", extendedKeyUsages.serverAuth],
] as const;

/** The wanted usages in TLS that a certificate permits: all if it lists no extended usages, and none if TLS programs refuse it. */
export const tlsUsagesOf = (certificate: Certificate, { usages }: WantedCertificate): string[] => {
  const { extendedKeyUsages: found } = certificate;
  if (tlsFault(certificate) !== undefined) return [];
  return tlsUsages
    .filter(([usage]) => usages.includes(usage))
    .filter(([, oid]) => found === undefined || found.includes(extendedKeyUsages.any) || found.includes(oid))
    .map(([usage]) => usage);
};

/**
 * Why TLS programs refuse a certificate, whatever its names, time and extended usages are. Many refuse a CA certificate from a peer, as the
 * server does, and TLS 1.3 refuses a key that may not sign (RFC 8446 4.4.2.2).
 */
export function tlsFault({ isCA, keyUsages, unhandledCriticalExtensions }: Certificate): string | undefined {
  const [unhandled] = unhandledCriticalExtensions;
  if (isCA) return "it is a CA";
  if (keyUsages?.includes("digitalSignature") === false) return "its key usage lacks digital signature";
  return unhandled && `its extension ${unhandled} is critical and not known`;
}

const isSubjectOf = (
  subject: Certificate["subject"],
  wanted: Pick<WantedCertificate, "commonName" | "organizations">,
): boolean =>
  subject.commonName === wanted.commonName &&
  wanted.organizations.every((organization) => subject.organizations.includes(organization));

/**
 * A digest of everything that is wanted. It includes usages and lifetime, because a certificate does not show which of these were
 * requested.
 */
export const wantedDigest = (wanted: WantedCertificate, lifetimeSeconds: number | undefined): string =>
  hash("sha256", JSON.stringify([wanted, lifetimeSeconds]), "hex");

/** Whether the subject of a certificate is the node's identity, in either naming profile. */
export const isIdentityOf = ({ subject }: Certificate, nodeName: string): boolean =>
  isSubjectOf(subject, subjectOf(nodeName));
