import { dnsSubdomainFaults } from "../../../machinery/api/validation/name-validation.ts";
import { nodesGroup, nodeUsernamePrefix } from "../../../machinery/api/user-info.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";

/** The faults of a subject by the rules of both node signers: O is exactly the nodes' group, CN is a node's user name. */
export function nodeSubjectFaults({ subject }: CertificateRequest): string[] {
  const faults: string[] = [];
  if (subject.organizations.length !== 1 || subject.organizations[0] !== nodesGroup) {
    faults.push(`subject organization is not ${nodesGroup}`);
  }
  if (!subject.commonName.startsWith(nodeUsernamePrefix)) {
    faults.push(`subject common name does not begin with ${nodeUsernamePrefix}`);
  } else if (dnsSubdomainFaults(subject.commonName.slice(nodeUsernamePrefix.length)).length > 0) {
    // No Node can have such a name, and people and programs may take it for the name of another node: `N1`, `n1.`, or `n1` and a blank.
    faults.push("subject common name does not name a node");
  }
  return faults;
}

/**
 * The faults of usages. Allowed are exactly digital signature and one extended usage; key encipherment is optional, because RSA needs it.
 */
export function nodeUsageFaults(usages: readonly string[], extendedUsage: "client auth" | "server auth"): string[] {
  const wanted = new Set(["digital signature", extendedUsage]);
  const given = new Set(usages);
  given.delete("key encipherment");
  return given.size === wanted.size && [...wanted].every((usage) => given.has(usage))
    ? []
    : [`usages did not match [${["digital signature", "key encipherment", extendedUsage].sort().join(" ")}]`];
}
