import type { Names } from "../../../machinery/api/names.ts";
import { wellKnownSigners } from "./well-known-signers.ts";

/** What the default roles of `access` say of a signer. */
interface SignerGrants {
  readonly name: string;
  /** Whether there is a default role of those who may approve its requests. */
  readonly hasApproverRole: boolean;
  /** What the controllers do for it. */
  readonly controllerVerbs: readonly ("approve" | "sign" | "attest")[];
}

/** The default permissions for the server's own signers, and for upstream's legacy one, which nothing runs. */
export const wellKnownSignerGrants = (names: Names): SignerGrants[] => [
  ...wellKnownSigners.map((signer) => ({
    name: signer.nameIn(names),
    hasApproverRole: true,
    controllerVerbs: ["approve", "sign", "attest"] as const,
  })),
  { name: names.signers.legacyUnknown, hasApproverRole: true, controllerVerbs: ["sign"] },
];

/** The permissions of the controllers for the signers of `--signer-config`. */
export const configuredSignerGrants = (signers: readonly { readonly name: string }[]): SignerGrants[] =>
  signers.map(({ name }) => ({
    name,
    hasApproverRole: false,
    controllerVerbs: ["approve", "sign", "attest"] as const,
  }));
