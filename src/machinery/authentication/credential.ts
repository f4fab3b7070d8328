import type { MaybePromise } from "../api/maybe-promise.ts";
import type { HttpRequest } from "../api/http-message.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { IdentityHeaders } from "./identity-headers.ts";

/**
 * The answers of an authenticator or a token verifier that name no user: there is no credential of its kind; or the credential is refused,
 * with the reason (which never contains the credential).
 */
export type NotAuthenticated =
  | { readonly outcome: "notApplicable" }
  | { readonly outcome: "refused"; readonly message: string };

export const notApplicable: NotAuthenticated = { outcome: "notApplicable" };
export const refused = (message: string): NotAuthenticated => ({ outcome: "refused", message });

/**
 * What an authenticator says of a request: it has no credential of this kind, its credential is refused, or it is a request of this user.
 * The reason of a refusal is for the log, and never contains the credential.
 */
export type CredentialOutcome = NotAuthenticated | { readonly outcome: "authenticated"; readonly user: UserInfo };

/**
 * One kind of credential: how it is read, and which headers it reads. `server/authentication.ts` lists all of them in the
 * order in which they are asked.
 */
export interface Credential {
  /** For logs: a few plain words. */
  readonly name: string;
  /** Every header that carries or claims an identity for this credential. They are removed before later steps see the request. */
  readonly headers: IdentityHeaders;
  /**
   * Throws only ApiErrors, for faults that must end the request: malformed headers, or a front proxy that names no user. Returns a promise
   * only when another program must be asked. The promise rejects with an ApiError for faults that must end the request, and with any other
   * error when the credential could not be checked.
   */
  readonly authenticate: (request: HttpRequest) => MaybePromise<CredentialOutcome>;
}
