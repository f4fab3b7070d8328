import { goQuoted } from "../api/text/format-value.ts";
import { andThen } from "../api/maybe-promise.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { SharePath } from "../scheduling/share-path.ts";
import { withAuthenticatedGroup } from "./authenticated-group.ts";
import { notApplicable, refused } from "./credential.ts";
import type { NotAuthenticated } from "./credential.ts";

/**
 * What a verifier says of a token: it is of another kind, it is refused, or it is valid. The reason of a refusal is the `error` of a
 * TokenReview, and never contains the token. A valid token has a user, and is for the `audiences` among the requested ones.
 */
export type TokenOutcome =
  | NotAuthenticated
  | { readonly outcome: "authenticated"; readonly user: UserInfo; readonly audiences: readonly string[] };

/** Members of `requested` that are in `held`, in the order of the request (upstream: `Audiences.Intersect`). */
export function commonAudiences(requested: readonly string[], held: readonly string[]): readonly string[] {
  if (requested === held) return held;
  const all = new Set(held);
  return requested.filter((audience) => all.has(audience));
}

/** Audiences as Go prints a list of strings. */
export const quotedAudiences = (audiences: readonly string[]): string => `[${audiences.map(goQuoted).join(" ")}]`;

/** Refuses a token that is for none of the requested audiences. */
export const refusedAudiences = (requested: readonly string[], held: readonly string[]): NotAuthenticated =>
  refused(`token audiences ${quotedAudiences(held)} is invalid for the target audiences ${quotedAudiences(requested)}`);

/** What a token is checked for. */
export interface TokenCheck {
  readonly audiences: readonly string[];
  /** Whose share counts while the token waits for another server. Called only when the token has to wait. */
  readonly asker: () => SharePath;
}

/**
 * Checks a token. Never throws. Returns a promise only when another service must be called. The promise rejects
 * only with an ApiError, when the token could not be checked; this does not mean that the token is bad.
 */
export type VerifyToken = (token: string, check: TokenCheck) => MaybePromise<TokenOutcome>;

/** A verifier that needs no other service, and so answers without a promise. */
export type VerifyTokenInMemory = (token: string, check: Pick<TokenCheck, "audiences">) => TokenOutcome;

/** The result of a TokenReview. */
type TokenReviewResult =
  | { readonly isAuthenticated: true; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly isAuthenticated: false; readonly error: string };

/** Finds the user of a token. Default for no audiences: the audiences of this API. The token is not trimmed or decoded first. */
export type ReviewToken = (token: string, check: TokenCheck) => MaybePromise<TokenReviewResult>;

/**
 * Asks one verifier after the other until one accepts the token. Refusals and failures do not end the search. If no verifier accepts the
 * token, it rejects with the first failure, or else refuses the token with all reasons.
 */
export function firstGoodToken(verifiers: readonly VerifyToken[]): VerifyToken {
  // One function for all tokens, as in createAuthentication.
  const ask = ({ token, check, next, faults, failures }: TokenSearch): MaybePromise<TokenOutcome> => {
    let found = faults;
    for (let index = next; index < verifiers.length; index += 1) {
      const answer = verifiers[index]?.(token, check) ?? notApplicable;
      if (answer instanceof Promise) {
        return askLater(answer, { token, check, next: index + 1, faults: found, failures });
      }
      if (answer.outcome === "authenticated") return answer;
      found = withFault(found, answer);
    }
    if (failures.length > 0) throw failures[0];
    return found.length === 0 ? notApplicable : refused(`[invalid bearer token, ${[...new Set(found)].join(", ")}]`);
  };
  const askLater = async (answer: Promise<TokenOutcome>, search: TokenSearch): Promise<TokenOutcome> => {
    let later: TokenOutcome;
    try {
      later = await answer;
    } catch (error) {
      return ask({ ...search, failures: [...search.failures, error] });
    }
    if (later.outcome === "authenticated") return later;
    return ask({ ...search, faults: withFault(search.faults, later) });
  };
  return (token, check) => ask({ token, check, next: 0, faults: [], failures: [] });
}

interface TokenSearch {
  readonly token: string;
  readonly check: TokenCheck;
  /** The index of the verifier to ask next. */
  readonly next: number;
  /** Why verifiers have refused the token so far. */
  readonly faults: readonly string[];
  /** The errors of verifiers that could not check the token. */
  readonly failures: readonly unknown[];
}

const withFault = (faults: readonly string[], answer: NotAuthenticated): readonly string[] =>
  answer.outcome === "refused" ? [...faults, answer.message] : faults;

/** Makes a verifier for tokens without audiences, which are valid only for the audiences of this API. */
export function forApiAudiences(
  find: (token: string) => UserInfo | undefined,
  apiAudiences: readonly string[],
): VerifyTokenInMemory {
  return (token, { audiences }) => {
    const common = commonAudiences(audiences, apiAudiences);
    if (common.length === 0) return notApplicable;
    const user = find(token);
    return user === undefined ? notApplicable : { outcome: "authenticated", user, audiences: common };
  };
}

/** Answers TokenReviews with upstream's messages. */
export function tokenReviewer(verify: VerifyToken, apiAudiences: readonly string[]): ReviewToken {
  return (token, { audiences, asker }) =>
    andThen(
      verify(token, { audiences: audiences.length > 0 ? audiences : apiAudiences, asker }),
      (answer): TokenReviewResult => {
        if (answer.outcome === "notApplicable") return { isAuthenticated: false, error: "invalid bearer token" };
        if (answer.outcome === "refused") return { isAuthenticated: false, error: answer.message };
        return { isAuthenticated: true, user: withAuthenticatedGroup(answer.user), audiences: answer.audiences };
      },
    );
}
