import { nodesGroup, nodeUsernamePrefix } from "../../../machinery/api/user-info.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";

/** What both node signers ask of the subject: O is exactly the nodes' group, CN names a node. */
export function nodeSubjectViolations({ subject }: CertificateRequest): string[] {
  const violations: string[] = [];
  if (subject.organizations.length !== 1 || subject.organizations[0] !== nodesGroup) {
    violations.push(`subject organization is not ${nodesGroup}`);
  }
  if (!subject.commonName.startsWith(nodeUsernamePrefix)) {
    violations.push(`subject common name does not begin with ${nodeUsernamePrefix}`);
  } else if (subject.commonName === nodeUsernamePrefix) {
    violations.push("subject common name does not name a node");
  }
  return violations;
}

/** Exactly digital signature and one extended usage; key encipherment, which RSA needs, may be there. */
export function nodeUsageViolations(usages: readonly string[], extendedUsage: "client auth" | "server auth"): string[] {
  const wanted = new Set(["digital signature", extendedUsage]);
  const given = new Set(usages);
  given.delete("key encipherment");
  return given.size === wanted.size && [...wanted].every((usage) => given.has(usage))
    ? []
    : [`usages did not match [digital signature key encipherment ${extendedUsage}]`];
}
