import type { Logger } from "pino";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";

type Signers = readonly ConfiguredSigner[];

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
