import type { UserInfo } from "../api/user-info.ts";
import type { NotAuthenticated } from "./not-authenticated.ts";

/**
 * What a verifier says of a token: not one of its own; its own but no good, and why (the words of a TokenReview's
 * `error`, never the token's); or good, with the user and the audiences that it shares with the question.
 */
export type TokenOutcome =
  | NotAuthenticated
  | { readonly outcome: "authenticated"; readonly user: UserInfo; readonly audiences: readonly string[] };

/** Members of `requested` that are in `held`, in the order of the request (upstream: `Audiences.Intersect`). */
export const commonAudiences = (requested: readonly string[], held: readonly string[]): string[] =>
  requested.filter((audience) => held.includes(audience));

/** Audiences as Go prints a list of strings. */
export const quotedAudiences = (audiences: readonly string[]): string =>
  `[${audiences.map((one) => JSON.stringify(one)).join(" ")}]`;
