import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";

/** Makes tokens: with a key of this process, with a key in a hardware token, or by asking a program that has the keys. */
export interface TokenSigner {
  /**
   * A compact JWS of the claims: at once with a key of this process, otherwise a promise. It rejects with a 503 when the
   * key's owner does not sign now.
   */
  signToken(payload: object): MaybePromise<string>;
}
