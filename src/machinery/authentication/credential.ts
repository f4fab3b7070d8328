import type { MaybePromise } from "../api/maybe-promise.ts";
import type { HttpRequest } from "../api/http-message.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { IdentityHeaders } from "./identity-headers.ts";

/**
 * What an authenticator or a token verifier says without naming a user: there is nothing of its kind; or there is, but it is
 * refused, and why (never with the credential in it).
 */
export type NotAuthenticated =
  | { readonly outcome: "notApplicable" }
  | { readonly outcome: "refused"; readonly message: string };

export const notApplicable: NotAuthenticated = { outcome: "notApplicable" };
export const refused = (message: string): NotAuthenticated => ({ outcome: "refused", message });

/**
 * What an authenticator says of a request: it carries no credential of this kind; it carries one that is refused, and why
 * (for the log: never with the credential in it); or it names the user.
 */
export type CredentialOutcome = NotAuthenticated | { readonly outcome: "authenticated"; readonly user: UserInfo };

/**
 * One kind of credential: how it is read, and which headers it reads. `server/authentication.ts` lists all of them in the
 * order in which they are asked.
 */
export interface Credential {
  /** For logs: a few plain words. */
  readonly name: string;
  /** Every header that carries or claims an identity for it. They are removed before anything else sees the request. */
  readonly headers: IdentityHeaders;
  /**
   * Throws only an ApiError, for what must end the request: headers that cannot be read, a front proxy that must name a user
   * and names none. A promise only where something outside this process must be asked; it may reject, with an ApiError for what must
   * end the request.
   */
  readonly authenticate: (request: HttpRequest) => MaybePromise<CredentialOutcome>;
}
