import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";

/** Makes tokens: with a key of this process, with a key in a hardware token, or by asking a program that has the keys. */
export interface TokenSigner {
  /**
   * A compact JWS of the claims. At hand for a key of this process, else a promise, which rejects with a 503 when who has
   * the key does not sign now.
   */
  signToken(payload: object): MaybePromise<string>;
}
