import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { nodeSubjectViolations, nodeUsageViolations } from "./node-identity-rules.ts";
import type { Signer } from "./signer.ts";

/** Client certificates with which node agents authenticate: nothing but the node's name. */
export const apiserverClientNodeAgent = (names: Names): Signer => ({
  name: names.signers.apiserverClientNodeAgent,
  violations: nodeClientViolations,
});

/** The rules of the signer, which also tell which requests `csrapproving` recognises. */
export function nodeClientViolations(request: CertificateRequest, usages: readonly string[]): string[] {
  const { dnsNames, emailAddresses, ipAddresses, uris } = request.subjectAltNames;
  const violations = nodeSubjectViolations(request);
  if (dnsNames.length > 0) violations.push("DNS subjectAltNames are not allowed");
  if (emailAddresses.length > 0) violations.push("Email subjectAltNames are not allowed");
  if (ipAddresses.length > 0) violations.push("IP subjectAltNames are not allowed");
  if (uris.length > 0) violations.push("URI subjectAltNames are not allowed");
  return [...violations, ...nodeUsageViolations(usages, "client auth")];
}
