import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { distinctKeys } from "../tokens/token-key.ts";
import type { VerificationKey } from "../tokens/token-key.ts";

/** Signs tokens with a key of this process, with a key in a hardware token, or by asking an external signer. */
export interface TokenSigner {
  /**
   * Returns a compact JWS of the claims. A key of this process signs synchronously; otherwise the result is a promise, which rejects with a
   * 503 when the key can't be used now.
   */
  signToken(payload: object): MaybePromise<string>;
}

/** The keys that verify tokens. The object is the same until a key changes. */
export interface VerificationKeys {
  readonly all: readonly VerificationKey[];
  readonly byId: ReadonlyMap<string, readonly VerificationKey[]>;
  /** How long relying parties may cache the keys. A new key must be published at least this long before it signs a token. */
  readonly cacheSeconds: number;
}

/** The token keys of this process. They change while it runs: call these functions for each use. */
export interface TokenKeys {
  /** Every key that may have signed a token that is still valid, and the keys that will sign soon. */
  verification(): VerificationKeys;
  /** The key that signs now. */
  signing(): TokenSigner;
  /**
   * The signer for a token that lives for `lifetimeSeconds`. Waits only when the store must first record that the key's tokens live this
   * long. Rejects with a 503 when the store can't be written.
   */
  signingFor(lifetimeSeconds: number): MaybePromise<TokenSigner>;
  /** Asks the external signer for an unknown key. Never rejects: call `verification()` again afterwards. Undefined: no signer to ask. */
  learn?(kid: string): Promise<void> | undefined;
}

const defaultCacheSeconds = 3600;

/** `maximumCacheSeconds`: how long the keys stay unchanged. Undefined: unknown. */
export function verificationKeys(
  keys: readonly VerificationKey[],
  maximumCacheSeconds: number = defaultCacheSeconds,
): VerificationKeys {
  const all = distinctKeys(keys);
  const byId = new Map<string, VerificationKey[]>();
  for (const key of all) byId.set(key.kid, [...(byId.get(key.kid) ?? []), key]);
  return { all, byId, cacheSeconds: Math.min(defaultCacheSeconds, maximumCacheSeconds) };
}
