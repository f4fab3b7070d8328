import type { HttpRequest } from "../api/http-message.ts";
import type { UserInfo } from "../api/user-info.ts";

/**
 * What an authenticator says of a request: it carries no credential of this kind; it carries one that is no good, and why
 * (for the log: never with the credential in it); or it tells who asks.
 */
export type CredentialOutcome =
  | { readonly outcome: "notMine" }
  | { readonly outcome: "refused"; readonly message: string }
  | { readonly outcome: "authenticated"; readonly user: UserInfo };

/**
 * One kind of credential. Synchronous: everything that it looks at is in memory. Throws only an ApiError, for what must end
 * the request: headers that cannot be read, and a front proxy that must name a user and names none.
 */
export type AuthenticateRequest = (request: HttpRequest) => CredentialOutcome;

export const notMine: CredentialOutcome = { outcome: "notMine" };
export const refused = (message: string): CredentialOutcome => ({ outcome: "refused", message });
