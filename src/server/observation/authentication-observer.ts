import type { Log } from "../../machinery/logging/log.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { ObservedAuthentication } from "../../machinery/authentication/create-authentication.ts";
import type { ReviewToken } from "../../machinery/authentication/token-authentication.ts";
import { andThen } from "../../machinery/api/maybe-promise.ts";
import { LineLimit } from "../../machinery/logging/line-limit.ts";
import type { DomainCounters } from "./domain-counters.ts";

/** A client with a wrong token sends many requests a second; ten log lines are enough. */
const refusalLines = 10;
const refusalIntervalMilliseconds = 10_000;

interface AuthenticationObserverOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly counters: DomainCounters;
}

/** Counts authentications, and logs refused ones: who requested what, and why it was refused; never the credential. */
export function authenticationObserver({
  log,
  clock,
  counters,
}: AuthenticationObserverOptions): (observed: ObservedAuthentication) => void {
  const limit = new LineLimit({
    clock,
    lines: refusalLines,
    intervalMilliseconds: refusalIntervalMilliseconds,
  });
  return ({ method, answer, request }) => {
    counters.authentications.count(method, answer.outcome);
    if (answer.outcome !== "refused") return;
    const logins = limit.take();
    if (logins === undefined) return;
    if (logins > 0) log.info({ logins }, "more logins were refused than are logged");
    const { remoteAddress } = request.connection;
    log.info({ credential: method, reason: answer.message, remoteAddress }, "login refused");
  };
}

/** Counts the answers of TokenReviews. */
export const countedReviews =
  (review: ReviewToken, { tokenReviews }: DomainCounters): ReviewToken =>
  (token, check) =>
    andThen(review(token, check), (result) => {
      tokenReviews.inc({ outcome: result.isAuthenticated ? "authenticated" : "refused" });
      return result;
    });
