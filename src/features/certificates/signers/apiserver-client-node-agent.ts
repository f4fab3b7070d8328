import { signerNames } from "../signer-names.ts";
import { nodeSubjectFaults, nodeUsageFaults } from "./node-identity-rules.ts";
import type { WellKnownSigner } from "./signer.ts";

/** Client certificates with which node agents authenticate. They contain only the node's name. */
export const apiserverClientNodeAgent = {
  shortName: "nodeagent-client",
  nameIn: signerNames.apiserverClientNodeAgent,
  certifies: "node",
  isClientAuthenticating: true,
  holdsNodeNames: false,
  isApprovedAutomatically: true,
  faults: (request, usages) => {
    const { dnsNames, emailAddresses, ipAddresses, uris } = request.subjectAltNames;
    const faults = nodeSubjectFaults(request);
    if (dnsNames.length > 0) faults.push("DNS subjectAltNames are not allowed");
    if (emailAddresses.length > 0) faults.push("Email subjectAltNames are not allowed");
    if (ipAddresses.length > 0) faults.push("IP subjectAltNames are not allowed");
    if (uris.length > 0) faults.push("URI subjectAltNames are not allowed");
    return [...faults, ...nodeUsageFaults(usages, "client auth")];
  },
} as const satisfies WellKnownSigner;
