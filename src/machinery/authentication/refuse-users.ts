import { andThen } from "../api/maybe-promise.ts";
import type { UserInfo } from "../api/user-info.ts";
import { refused } from "./credential.ts";
import type { Credential } from "./credential.ts";
import type { VerifyToken } from "./token-authentication.ts";

/** Why a user with a good credential is refused; undefined for all others. It is called for every request. */
export type RefusalOfUser = (user: UserInfo) => string | undefined;

/** The credential, without some users. */
export const refuseUsers = (credential: Credential, refusalOf: RefusalOfUser): Credential => ({
  ...credential,
  authenticate: (request) =>
    andThen(credential.authenticate(request), (answer) => {
      const message = answer.outcome === "authenticated" ? refusalOf(answer.user) : undefined;
      return message === undefined ? answer : refused(message);
    }),
});

/** The verifier, without the tokens of some users. */
export const refuseUsersOfTokens =
  (verify: VerifyToken, refusalOf: RefusalOfUser): VerifyToken =>
  (token, audiences) =>
    andThen(verify(token, audiences), (answer) => {
      const message = answer.outcome === "authenticated" ? refusalOf(answer.user) : undefined;
      return message === undefined ? answer : refused(message);
    });
