import { randomUUID } from "node:crypto";
import type { Clock } from "../../../machinery/api/clock.ts";
import { serviceAccountUsername } from "../../../machinery/api/user-info.ts";
import { andThen } from "../../../machinery/api/maybe-promise.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import type { TokenKeys } from "../keys/token-keys.ts";
import { encodeClaims } from "./token-claims.ts";
import type { TokenClaims } from "./token-claims.ts";

interface TokenIssuerOptions {
  readonly keys: Pick<TokenKeys, "signingFor">;
  readonly issuer: string;
  /** The private claim of the naming profile (`Names.tokenClaim`). */
  readonly claimName: string;
  readonly clock: Clock;
}

/** The service account of a token, and the objects to which the token is bound. */
export type TokenSubject = Pick<TokenClaims, "namespace" | "serviceAccount" | "pod" | "secret" | "node">;

interface TokenTerms {
  readonly audiences: readonly string[];
  readonly lifetimeSeconds: number;
  /** The requested lifetime in seconds, if the token lives longer than requested. Using the token after this time causes a warning. */
  readonly warnAfterSeconds?: number;
}

/**
 * Issues tokens for a service account, optionally bound to a Pod, a Secret or a Node. Waits only when no token of the key has lived so long
 * before, or when the key is outside this process. Rejects with a 503 when the lifetime can't be recorded, or the key can't be used now.
 */
export type IssueToken = (subject: TokenSubject, terms: TokenTerms) => MaybePromise<string>;

export function createTokenIssuer({ keys, issuer, claimName, clock }: TokenIssuerOptions): IssueToken {
  return (subject, { audiences, lifetimeSeconds, warnAfterSeconds }) =>
    andThen(keys.signingFor(lifetimeSeconds), (signer) => {
      const nowSeconds = Math.floor(clock.now() / 1000);
      const claims = {
        issuer,
        subject: serviceAccountUsername(subject.namespace, subject.serviceAccount.name),
        audiences,
        issuedAtSeconds: nowSeconds,
        notBeforeSeconds: nowSeconds,
        expirationSeconds: nowSeconds + lifetimeSeconds,
        tokenId: randomUUID(),
        ...subject,
        ...(warnAfterSeconds !== undefined && { warnAfterSeconds: nowSeconds + warnAfterSeconds }),
      };
      return signer.signToken(encodeClaims(claims, claimName));
    });
}
