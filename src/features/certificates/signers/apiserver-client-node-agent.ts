import { signerNames } from "../signer-names.ts";
import { nodeSubjectViolations, nodeUsageViolations } from "./node-identity-rules.ts";
import type { WellKnownSigner } from "./signer.ts";

/** Client certificates with which node agents authenticate. They contain only the node's name. */
export const apiserverClientNodeAgent = {
  shortName: "nodeagent-client",
  nameIn: signerNames.apiserverClientNodeAgent,
  certifies: "node",
  isClientAuthenticating: true,
  holdsNodeNames: false,
  isApprovedAutomatically: true,
  violations: (request, usages) => {
    const { dnsNames, emailAddresses, ipAddresses, uris } = request.subjectAltNames;
    const violations = nodeSubjectViolations(request);
    if (dnsNames.length > 0) violations.push("DNS subjectAltNames are not allowed");
    if (emailAddresses.length > 0) violations.push("Email subjectAltNames are not allowed");
    if (ipAddresses.length > 0) violations.push("IP subjectAltNames are not allowed");
    if (uris.length > 0) violations.push("URI subjectAltNames are not allowed");
    return [...violations, ...nodeUsageViolations(usages, "client auth")];
  },
} as const satisfies WellKnownSigner;
