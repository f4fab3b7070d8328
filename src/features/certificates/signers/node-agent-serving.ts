import { signerNames } from "../signer-names.ts";
import { nodeSubjectFaults, nodeUsageFaults } from "./node-identity-rules.ts";
import type { WellKnownSigner } from "./signer.ts";

/** Serving certificates of node agents. The approver checks that the names are the node's own. */
export const nodeAgentServing = {
  shortName: "nodeagent-serving",
  nameIn: signerNames.nodeAgentServing,
  certifies: "node",
  isClientAuthenticating: false,
  holdsNodeNames: true,
  isApprovedAutomatically: false,
  faults: (request, usages) => {
    const { dnsNames, emailAddresses, ipAddresses, uris } = request.subjectAltNames;
    const faults = nodeSubjectFaults(request);
    if (dnsNames.length + ipAddresses.length === 0) faults.push("DNS or IP subjectAltName is required");
    if (emailAddresses.length > 0) faults.push("Email subjectAltNames are not allowed");
    if (uris.length > 0) faults.push("URI subjectAltNames are not allowed");
    return [...faults, ...nodeUsageFaults(usages, "server auth")];
  },
} as const satisfies WellKnownSigner;
