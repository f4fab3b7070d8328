import type { SignerGrants } from "../features/access/policy/controller-policy.ts";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";
import { signerNames } from "../features/certificates/resources.ts";
import { wellKnownSigners } from "../features/certificates/signers/well-known-signers.ts";
import type { Names } from "../machinery/api/names.ts";
import type { Log } from "../machinery/logging/log.ts";

type Signers = readonly ConfiguredSigner[];

const everyVerb = ["approve", "sign", "attest"] as const;

/** The default permissions for the server's own signers, and for upstream's legacy signer, which Signet never runs. */
export const wellKnownSignerGrants = (names: Names): SignerGrants[] => [
  ...wellKnownSigners.map(({ nameIn }) => ({
    name: nameIn(names),
    hasApproverRole: true,
    controllerVerbs: everyVerb,
  })),
  { name: signerNames.apiserverServing(names), hasApproverRole: false, controllerVerbs: ["attest"] },
  { name: signerNames.legacyUnknown(names), hasApproverRole: true, controllerVerbs: ["sign"] },
];

/** The permissions of the controllers for the signers of `--signer-config`. */
export const configuredSignerGrants = (signers: Signers): SignerGrants[] =>
  signers.map(({ name }) => ({ name, hasApproverRole: false, controllerVerbs: everyVerb }));

export interface GrantOptions {
  /** Grants the controllers the permissions for these signers. */
  grantTo(signers: Signers): Promise<void>;
  readonly log: Pick<Log, "error">;
}

/**
 * Returns a function that returns the configured signers, and grants their permissions in the background when the list has changed. After a
 * failure, the next call tries again. The controllers retry what is refused until then.
 */
export function grantOnChange(current: () => Signers, { grantTo, log }: GrantOptions): () => Signers {
  let granted = current();
  let isGranting = false;
  return () => {
    const signers = current();
    if (signers === granted || isGranting) return signers;
    isGranting = true;
    grantTo(signers)
      .then(() => (granted = signers))
      .catch((error: unknown) => {
        log.error({ error: String(error) }, "the controllers have no permissions for the new signers yet; will retry");
      })
      .finally(() => (isGranting = false));
    return signers;
  };
}
