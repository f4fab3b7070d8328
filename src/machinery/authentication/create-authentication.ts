import { ApiError, unauthorized } from "../api/api-error.ts";
import { andThen } from "../api/maybe-promise.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { anonymousUsername, unauthenticatedGroup } from "../api/user-info.ts";
import type { UserInfo } from "../api/user-info.ts";
import { currentTrace } from "../tracing/request-trace.ts";
import { withAuthenticatedGroup } from "./authenticated-group.ts";
import { refused } from "./credential.ts";
import type { Credential, CredentialOutcome } from "./credential.ts";
import type { VerifyToken } from "./token-authentication.ts";

interface AuthenticationOptions {
  /** In the order in which they are asked. The order is a security decision. */
  readonly credentials: readonly Credential[];
  /** Whether a request without any credential counts as a request of the anonymous user. */
  readonly mayBeAnonymous: (request: HttpRequest) => boolean;
  /**
   * Called with the credential that authenticated the user, or else with the last refused credential. It runs on the request path, so keep
   * it fast.
   */
  readonly onOutcome: (authentication: ObservedAuthentication) => void;
  /** Called with a credential that could not be checked, because a call outside this process has failed. */
  readonly onFailure: (credential: Credential, error: unknown) => void;
}

type DecidedOutcome = Exclude<CredentialOutcome, { outcome: "notApplicable" }>;

export interface ObservedAuthentication {
  /** The credential's name. */
  readonly method: string;
  readonly answer: DecidedOutcome;
  readonly request: HttpRequest;
}

/** Returns the user of a request. Throws, or rejects with, a 401 ApiError or the ApiError of a credential. */
type Authenticate = (request: HttpRequest) => MaybePromise<UserInfo>;

/**
 * Asks one credential after the other. The first that authenticates decides. A refused credential does not end the search (it may be a
 * proxy's certificate and not the client's), but the request is then never anonymous: without a valid credential it gets a 401. A
 * credential that cannot be checked counts as refused, unless it fails with an ApiError, which is the answer.
 */
export function createAuthentication(options: AuthenticationOptions): Authenticate {
  const { credentials, mayBeAnonymous, onFailure, onOutcome } = options;
  const outcomeOf = (credential: Credential, request: HttpRequest): MaybePromise<CredentialOutcome> => {
    const answer = credential.authenticate(request);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error: unknown): CredentialOutcome => {
      if (error instanceof ApiError) throw error;
      onFailure(credential, error);
      return refused("it could not be checked");
    });
  };
  const userOf = (request: HttpRequest, { method, answer }: Answered): UserInfo | undefined => {
    if (answer.outcome === "notApplicable") return undefined;
    currentTrace()?.note(explanation(method, answer));
    if (answer.outcome === "refused") return undefined;
    onOutcome({ method, answer, request });
    return withAuthenticatedGroup(answer.user);
  };
  // All requests use the same functions: V8 would discard the machine code of functions that each request creates.
  const ask = (request: HttpRequest, search: Search): MaybePromise<UserInfo> => {
    let { refusal } = search;
    for (let index = search.next; index < credentials.length; index += 1) {
      const credential = credentials[index];
      if (credential === undefined) break;
      const outcome = outcomeOf(credential, request);
      if (outcome instanceof Promise)
        return askLater(request, { method: credential.name, outcome, next: index + 1, refusal });
      const answered = { method: credential.name, answer: outcome };
      const user = userOf(request, answered);
      if (user !== undefined) return user;
      refusal = refusalIn(answered) ?? refusal;
    }
    if (refusal !== undefined) onOutcome({ ...refusal, request });
    if (refusal !== undefined || !mayBeAnonymous(request)) throw unauthorized();
    return anonymousUser;
  };
  const askLater = async (request: HttpRequest, { method, outcome, next, refusal }: Waiting): Promise<UserInfo> => {
    const answered = { method, answer: await outcome };
    return userOf(request, answered) ?? ask(request, { next, refusal: refusalIn(answered) ?? refusal });
  };
  return (request) => ask(request, nobodyAsked);
}

/** A credential's name, and what it answered. */
interface Answered {
  readonly method: string;
  readonly answer: CredentialOutcome;
}

type Refusal = Pick<ObservedAuthentication, "method" | "answer">;

/** The state of the search for a request's user. */
interface Search {
  /** The index of the credential to ask next. */
  readonly next: number;
  /** The last refusal so far. */
  readonly refusal: Refusal | undefined;
}

interface Waiting extends Search {
  readonly method: string;
  readonly outcome: Promise<CredentialOutcome>;
}

const nobodyAsked: Search = { next: 0, refusal: undefined };

const refusalIn = ({ method, answer }: Answered): Refusal | undefined =>
  answer.outcome === "refused" ? { method, answer } : undefined;

/** What the trace of a request says about a credential, without the credential itself. */
const explanation = (method: string, answer: DecidedOutcome): string =>
  answer.outcome === "refused" ? `${method} refused: ${answer.message}` : method;

/** The user of a request without any credential. */
const anonymousUser: UserInfo = { username: anonymousUsername, groups: [unauthenticatedGroup], extra: {} };

/** Returns why a user with a valid credential is refused, or undefined for all other users. It is called for every request. */
type RefusalOfUser = (user: UserInfo) => string | undefined;

/** The same credential, but refuses some users. */
export const refuseUsers = (credential: Credential, refusalOf: RefusalOfUser): Credential => ({
  ...credential,
  authenticate: (request) =>
    andThen(credential.authenticate(request), (answer) => {
      const message = answer.outcome === "authenticated" ? refusalOf(answer.user) : undefined;
      return message === undefined ? answer : refused(message);
    }),
});

/** The same verifier, but refuses the tokens of some users. */
export const refuseUsersOfTokens =
  (verify: VerifyToken, refusalOf: RefusalOfUser): VerifyToken =>
  (token, check) =>
    andThen(verify(token, check), (answer) => {
      const message = answer.outcome === "authenticated" ? refusalOf(answer.user) : undefined;
      return message === undefined ? answer : refused(message);
    });
