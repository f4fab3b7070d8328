import { signerNames } from "../features/certificates/resources.ts";
import type { Names } from "../machinery/api/names.ts";
import { nodesGroup, nodeUsernamePrefix } from "../machinery/api/user-info.ts";
import type { Certificate } from "../pki/certificate.ts";
import { noSubjectAltNames } from "../pki/subject-alt-names.ts";
import type { SubjectAltNames } from "../pki/subject-alt-names.ts";

/** What a certificate of the agent must say, and whom it is asked from. */
export interface WantedCertificate {
  readonly signerName: string;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly subjectAltNames: SubjectAltNames;
  readonly usages: readonly string[];
}

/** The names and addresses that a machine is reached by. */
export interface MachineNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

const subjectOf = (nodeName: string) => ({
  commonName: `${nodeUsernamePrefix}${nodeName}`,
  organizations: [nodesGroup],
});

export const wantedClientCertificate = (names: Names, nodeName: string): WantedCertificate => ({
  ...subjectOf(nodeName),
  signerName: signerNames.apiserverClientNodeAgent(names),
  subjectAltNames: noSubjectAltNames,
  usages: ["digital signature", "client auth"],
});

export const wantedServingCertificate = (
  names: Names,
  { nodeName, dnsNames, ipAddresses }: MachineNames & { readonly nodeName: string },
): WantedCertificate => ({
  ...subjectOf(nodeName),
  signerName: signerNames.nodeAgentServing(names),
  subjectAltNames: { ...noSubjectAltNames, dnsNames, ipAddresses },
  usages: ["digital signature", "server auth"],
});

/** Whether a certificate says all that is wanted; a signer may have added to it. */
export function isCertificateFor({ subject, subjectAltNames }: Certificate, wanted: WantedCertificate): boolean {
  const { dnsNames, ipAddresses } = wanted.subjectAltNames;
  return (
    isSubjectOf(subject, wanted) &&
    dnsNames.every((name) => subjectAltNames.dnsNames.includes(name)) &&
    ipAddresses.every((address) => subjectAltNames.ipAddresses.includes(address))
  );
}

const isSubjectOf = (
  subject: Certificate["subject"],
  wanted: Pick<WantedCertificate, "commonName" | "organizations">,
): boolean =>
  subject.commonName === wanted.commonName &&
  wanted.organizations.every((organization) => subject.organizations.includes(organization));

/** Whether a certificate is the node's identity, whatever names the server speaks. */
export const isIdentityOf = ({ subject }: Certificate, nodeName: string): boolean =>
  isSubjectOf(subject, subjectOf(nodeName));
