import type { Logger } from "pino";
import type { Clock } from "../../machinery/api/clock.ts";
import type { ObservedAuthentication } from "../../machinery/authentication/create-authentication.ts";
import type { ReviewToken } from "../../machinery/authentication/token-authentication.ts";
import { andThen } from "../../machinery/api/maybe-promise.ts";
import type { Tallies } from "./tallies.ts";

/** One client with a wrong token asks many times a second; ten lines say it. */
const refusalLines = 10;
const refusalIntervalMilliseconds = 10_000;

interface AuthenticationObserverOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly tallies: Tallies;
}

/** Counts logins, and logs those that are refused: who asked for what, and why it was refused; never the credential. */
export function authenticationObserver({
  log,
  clock,
  tallies,
}: AuthenticationObserverOptions): (observed: ObservedAuthentication) => void {
  const limit = new LineLimit({
    clock,
    lines: refusalLines,
    intervalMilliseconds: refusalIntervalMilliseconds,
    onSuppressed: (logins) => log.info({ logins }, "more logins were refused than are logged"),
  });
  return ({ method, answer, request }) => {
    tallies.authentications.add({ method, outcome: answer.outcome });
    if (answer.outcome !== "refused" || !limit.take()) return;
    const { remoteAddress } = request.connection;
    log.info({ credential: method, reason: answer.message, remoteAddress }, "login refused");
  };
}

/** Counts the answers of TokenReviews. */
export const countedReviews =
  (review: ReviewToken, { tokenReviews }: Tallies): ReviewToken =>
  (token, audiences) =>
    andThen(review(token, audiences), (result) => {
      tokenReviews.add({ outcome: result.isAuthenticated ? "authenticated" : "refused" });
      return result;
    });

interface LineLimitOptions {
  readonly clock: Clock;
  /** How many lines are written in an interval. */
  readonly lines: number;
  readonly intervalMilliseconds: number;
  /** Called with the number of lines that were not written, before the first line after them. */
  readonly onSuppressed: (lines: number) => void;
}

/** Lets so many lines pass in an interval, and counts the others, so that clients cannot fill the log. */
export class LineLimit {
  readonly #options: LineLimitOptions;
  #intervalStart = -Infinity;
  #written = 0;
  #suppressed = 0;

  constructor(options: LineLimitOptions) {
    this.#options = options;
  }

  /** Whether the next line may be written. */
  take(): boolean {
    const { clock, lines, intervalMilliseconds, onSuppressed } = this.#options;
    const now = clock.now();
    if (Math.abs(now - this.#intervalStart) >= intervalMilliseconds) {
      const suppressed = this.#suppressed;
      this.#intervalStart = now;
      this.#written = 0;
      this.#suppressed = 0;
      if (suppressed > 0) onSuppressed(suppressed);
    }
    if (this.#written === lines) {
      this.#suppressed += 1;
      return false;
    }
    this.#written += 1;
    return true;
  }
}
