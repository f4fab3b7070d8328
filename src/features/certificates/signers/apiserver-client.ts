import { signerNames } from "../signer-names.ts";
import type { WellKnownSigner } from "./signer.ts";

const allowedUsages = new Set(["digital signature", "key encipherment", "client auth"]);

/** Client certificates for the API server. The approver decides which user a certificate may name. */
export const apiserverClient = {
  shortName: "apiserver-client",
  nameIn: signerNames.apiserverClient,
  certifies: "user",
  isClientAuthenticating: true,
  holdsNodeNames: false,
  isApprovedAutomatically: false,
  faults: (_request, usages) => [
    ...usages
      .filter((usage) => !allowedUsages.has(usage))
      .map((usage) => `invalid usage for client certificate: ${usage}`),
    ...(usages.includes("client auth") ? [] : ["missing required usage for client certificate: client auth"]),
  ],
} as const satisfies WellKnownSigner;
