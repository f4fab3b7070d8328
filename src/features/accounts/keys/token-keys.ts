import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { distinctKeys } from "../tokens/token-key.ts";
import type { SigningKey, VerificationKey } from "../tokens/token-key.ts";

/** The keys that verify tokens: the same object until one of them changes. */
export interface VerificationKeys {
  readonly all: readonly VerificationKey[];
  readonly byId: ReadonlyMap<string, readonly VerificationKey[]>;
}

/** The token keys of this process. They change while it runs: ask each time. */
export interface TokenKeys {
  /** Every key that may have signed a token that is still valid, and those that will sign soon. */
  verification(): VerificationKeys;
  /** The key that signs now. */
  signing(): SigningKey;
  /**
   * The key that signs a token that lives for `lifetimeSeconds`. Waits only where it has to be written down first how
   * long the tokens of the key live. Rejects with a 503 when the store can't be written.
   */
  signingFor(lifetimeSeconds: number): MaybePromise<SigningKey>;
}

export function verificationKeys(keys: readonly VerificationKey[]): VerificationKeys {
  const all = distinctKeys(keys);
  return { all, byId: new Map(all.map((key) => [key.kid, [key]])) };
}
