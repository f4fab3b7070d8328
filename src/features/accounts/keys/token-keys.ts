import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { distinctKeys } from "../tokens/token-key.ts";
import type { VerificationKey } from "../tokens/token-key.ts";

/** Makes tokens: with a key of this process, with a key in a hardware token, or by asking a program that has the keys. */
export interface TokenSigner {
  /**
   * A compact JWS of the claims: at once with a key of this process, otherwise a promise. It rejects with a 503 when the
   * key's owner does not sign now.
   */
  signToken(payload: object): MaybePromise<string>;
}

/** The keys that verify tokens: the same object until one of them changes. */
export interface VerificationKeys {
  readonly all: readonly VerificationKey[];
  readonly byId: ReadonlyMap<string, readonly VerificationKey[]>;
  /** How long relying parties may keep them. A new key must be published at least this long before it signs a token. */
  readonly cacheSeconds: number;
}

/** The token keys of this process. They change while it runs: ask each time. */
export interface TokenKeys {
  /** Every key that may have signed a token that is still valid, and those that will sign soon. */
  verification(): VerificationKeys;
  /** The key that signs now. */
  signing(): TokenSigner;
  /**
   * What signs a token that lives for `lifetimeSeconds`. Waits only where it has to be written down first how long the
   * tokens of the key live. Rejects with a 503 when the store can't be written.
   */
  signingFor(lifetimeSeconds: number): MaybePromise<TokenSigner>;
  /**
   * Asks the external signer for a key that is not known yet. Never rejects: look at `verification()` again afterwards.
   * Undefined: there is no signer to ask.
   */
  learn?(kid: string): Promise<void> | undefined;
}

const defaultCacheSeconds = 3600;

/** `maximumCacheSeconds`: how long the keys stay as they are, where that is known. */
export function verificationKeys(
  keys: readonly VerificationKey[],
  maximumCacheSeconds: number = defaultCacheSeconds,
): VerificationKeys {
  const all = distinctKeys(keys);
  const byId = new Map<string, VerificationKey[]>();
  for (const key of all) byId.set(key.kid, [...(byId.get(key.kid) ?? []), key]);
  return { all, byId, cacheSeconds: Math.min(defaultCacheSeconds, maximumCacheSeconds) };
}
