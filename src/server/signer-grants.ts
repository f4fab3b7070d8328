import type { Logger } from "pino";
import type { SignerGrants } from "../features/access/policy/controller-policy.ts";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";
import { wellKnownSigners } from "../features/certificates/signers/well-known-signers.ts";
import type { Names } from "../machinery/api/names.ts";

type Signers = readonly ConfiguredSigner[];

const everyVerb = ["approve", "sign", "attest"] as const;

/** The default permissions for the server's own signers, and for upstream's legacy one, which nothing runs. */
export const wellKnownSignerGrants = (names: Names): SignerGrants[] => [
  ...wellKnownSigners.map(({ nameIn }) => ({
    name: nameIn(names),
    hasApproverRole: true,
    controllerVerbs: everyVerb,
  })),
  { name: names.signers.legacyUnknown, hasApproverRole: true, controllerVerbs: ["sign"] },
];

/** The permissions of the controllers for the signers of `--signer-config`. */
export const configuredSignerGrants = (signers: Signers): SignerGrants[] =>
  signers.map(({ name }) => ({ name, hasApproverRole: false, controllerVerbs: everyVerb }));

export interface GrantOptions {
  /** Lets the controllers work for these signers. */
  grantTo(signers: Signers): Promise<void>;
  readonly log: Pick<Logger, "error">;
}

/**
 * The configured signers, whose permissions follow them: when the list has changed they are granted while the caller goes
 * on, and after a failure again at the next look. What is refused until then, the loops try again by themselves.
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
