import { andThen } from "../api/maybe-promise.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { UserInfo } from "../api/user-info.ts";
import { withAuthenticatedGroup } from "./authenticated-group.ts";
import { notApplicable, refused } from "./credential.ts";
import type { NotAuthenticated } from "./credential.ts";

/**
 * What a verifier says of a token: not one of its own; its own but no good, and why (the words of a TokenReview's
 * `error`, never the token's); or good, with the user and the audiences that it shares with the question.
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
export const quotedAudiences = (audiences: readonly string[]): string =>
  `[${audiences.map((one) => JSON.stringify(one)).join(" ")}]`;

/** Refuses a token that is for none of the requested audiences. */
export const refusedAudiences = (requested: readonly string[], held: readonly string[]): NotAuthenticated =>
  refused(`token audiences ${quotedAudiences(held)} is invalid for the target audiences ${quotedAudiences(requested)}`);

/**
 * Checks a token for the given audiences. Never throws. Returns a promise only when another service must be called. It rejects only
 * with an ApiError: the token was not checked, which says nothing against it.
 */
export type VerifyToken = (token: string, audiences: readonly string[]) => MaybePromise<TokenOutcome>;

/** A verifier that has all it needs in memory. */
export type VerifyTokenInMemory = (token: string, audiences: readonly string[]) => TokenOutcome;

/** A TokenReview's findings. */
type TokenReviewResult =
  | { readonly isAuthenticated: true; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly isAuthenticated: false; readonly error: string };

/** Finds the user of a token. No audiences mean those of this API. The token is not trimmed or decoded first. */
export type ReviewToken = (token: string, audiences: readonly string[]) => MaybePromise<TokenReviewResult>;

/**
 * Asks one verifier after the other. A refusal is remembered and the next is asked: one good answer is enough. So is a failure:
 * without a good answer, it rejects with the first one.
 */
export function firstGoodToken(verifiers: readonly VerifyToken[]): VerifyToken {
  // One function for all tokens, as in createAuthentication.
  const ask = ({ token, audiences, next, faults, failures }: TokenSearch): MaybePromise<TokenOutcome> => {
    let found = faults;
    for (let index = next; index < verifiers.length; index += 1) {
      const answer = verifiers[index]?.(token, audiences) ?? notApplicable;
      if (answer instanceof Promise) {
        return askLater(answer, { token, audiences, next: index + 1, faults: found, failures });
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
  return (token, audiences) => ask({ token, audiences, next: 0, faults: [], failures: [] });
}

interface TokenSearch {
  readonly token: string;
  readonly audiences: readonly string[];
  /** The index of the verifier to ask next. */
  readonly next: number;
  /** Why verifiers have refused the token so far. */
  readonly faults: readonly string[];
  /** Why verifiers could not check it. */
  readonly failures: readonly unknown[];
}

const withFault = (faults: readonly string[], answer: NotAuthenticated): readonly string[] =>
  answer.outcome === "refused" ? [...faults, answer.message] : faults;

/** Makes a verifier of tokens that know no audiences: they are good for those of this API, and for no others. */
export function forApiAudiences(
  find: (token: string) => UserInfo | undefined,
  apiAudiences: readonly string[],
): VerifyTokenInMemory {
  return (token, audiences) => {
    const common = commonAudiences(audiences, apiAudiences);
    if (common.length === 0) return notApplicable;
    const user = find(token);
    return user === undefined ? notApplicable : { outcome: "authenticated", user, audiences: common };
  };
}

/** Answers TokenReviews with the words that upstream uses. */
export function tokenReviewer(verify: VerifyToken, apiAudiences: readonly string[]): ReviewToken {
  return (token, audiences) =>
    andThen(verify(token, audiences.length > 0 ? audiences : apiAudiences), (answer): TokenReviewResult => {
      if (answer.outcome === "notApplicable") return { isAuthenticated: false, error: "invalid bearer token" };
      if (answer.outcome === "refused") return { isAuthenticated: false, error: answer.message };
      return { isAuthenticated: true, user: withAuthenticatedGroup(answer.user), audiences: answer.audiences };
    });
}
