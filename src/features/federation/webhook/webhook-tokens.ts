import type { Clock } from "../../../machinery/api/clock.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";
import type { VerifyToken } from "../../../machinery/authentication/token-authentication.ts";
import { commonAudiences, notApplicable, refused } from "../../../machinery/authentication/token-outcome.ts";
import type { TokenOutcome } from "../../../machinery/authentication/token-outcome.ts";
import { parseToken } from "../../accounts/index.ts";

/** What the webhook says of a token (`status` of its TokenReview). */
export interface WebhookAnswer {
  readonly isAuthenticated: boolean;
  readonly user: UserInfo;
  /** Empty: it knows no audiences. */
  readonly audiences: readonly string[];
  readonly error: string;
}

/** Asks the webhook. Rejects when there was no answer that can be used. */
export type AskWebhook = (token: string, audiences: readonly string[]) => Promise<WebhookAnswer>;

export interface WebhookTokenOptions {
  readonly ask: AskWebhook;
  readonly clock: Clock;
  readonly apiAudiences: readonly string[];
  /** Tokens of these issuers are our own: they are not sent to anyone. */
  readonly ownIssuers: readonly string[];
  readonly cacheMilliseconds: number;
  /** Hears when the webhook becomes unavailable, and when it answers again. */
  readonly onChange: (change: { readonly isAvailable: boolean; readonly error?: unknown }) => void;
}

const longestToken = 64 * 1024;
const maximumEntries = 4096;
/** Questions that wait for their answer. More are refused at once. */
const maximumPending = 200;
/** After so many failures in a row, nobody waits for the webhook until the pause is over. */
const toleratedFailures = 5;
const pauseMilliseconds = 10_000;
const unavailable = "the webhook that checks tokens cannot be asked now";

/**
 * Asks a webhook about tokens that nothing else here knows (upstream: `webhook.WebhookTokenAuthenticator`). Good and bad
 * answers are kept apart, so that made-up tokens do not push out good ones. The same question is asked once at a time.
 */
export function webhookTokens(options: WebhookTokenOptions): VerifyToken {
  const { ask, clock, apiAudiences, ownIssuers, cacheMilliseconds, onChange } = options;
  const digest = tokenDigest();
  const good = new AnswerCache();
  const bad = new AnswerCache();
  const pending = new Map<string, Promise<TokenOutcome>>();
  let failures = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  const question = async (token: string, audiences: readonly string[]): Promise<WebhookAnswer> => {
    try {
      const answer = await ask(token, audiences);
      if (failures >= toleratedFailures) onChange({ isAvailable: true });
      failures = 0;
      pausedUntil = Number.NEGATIVE_INFINITY;
      return answer;
    } catch (error) {
      failures++;
      if (failures >= toleratedFailures) pausedUntil = clock.now() + pauseMilliseconds;
      if (failures === toleratedFailures) onChange({ isAvailable: false, error });
      throw error;
    }
  };
  const outcomeOf = async (token: string, audiences: readonly string[], key: string): Promise<TokenOutcome> => {
    let answer: WebhookAnswer;
    try {
      answer = await question(token, audiences);
    } catch {
      return refused(unavailable);
    }
    const outcome = outcomeOfAnswer(answer, { audiences, apiAudiences });
    const cache = outcome.outcome === "authenticated" ? good : bad;
    if (cacheMilliseconds > 0) cache.keep(key, { outcome, validUntil: clock.now() + cacheMilliseconds });
    return outcome;
  };

  return (token, audiences) => {
    if (token.length > longestToken || isOwn(token, ownIssuers)) return notApplicable;
    const key = digest(`${JSON.stringify(audiences)}${token}`);
    const now = clock.now();
    const known = good.find(key, now) ?? bad.find(key, now);
    if (known !== undefined) return known;
    const running = pending.get(key);
    if (running !== undefined) return running;
    if (pending.size >= maximumPending || now < pausedUntil) return refused(unavailable);
    // The pause is over: one question tries it, the others are refused until it has an answer.
    if (failures >= toleratedFailures) pausedUntil = now + pauseMilliseconds;
    const asked = outcomeOf(token, audiences, key).finally(() => pending.delete(key));
    pending.set(key, asked);
    return asked;
  };
}

interface Kept {
  readonly outcome: TokenOutcome;
  readonly validUntil: number;
}

/** The newest answers, by digests of the questions. */
class AnswerCache {
  readonly #kept = new Map<string, Kept>();

  find(key: string, now: number): TokenOutcome | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined || now < kept.validUntil) return kept?.outcome;
    this.#kept.delete(key);
    return undefined;
  }

  keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maximumEntries && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** A webhook that knows no audiences speaks for those of this API, as in upstream. */
function outcomeOfAnswer(
  answer: WebhookAnswer,
  { audiences, apiAudiences }: { readonly audiences: readonly string[]; readonly apiAudiences: readonly string[] },
): TokenOutcome {
  if (!answer.isAuthenticated) return answer.error === "" ? notApplicable : refused(answer.error);
  const held = answer.audiences.length > 0 ? answer.audiences : apiAudiences;
  const common = commonAudiences(audiences, held);
  if (common.length === 0) return notApplicable;
  return { outcome: "authenticated", user: answer.user, audiences: common };
}

function isOwn(token: string, ownIssuers: readonly string[]): boolean {
  const payload = token.includes(".") ? parseToken(token)?.payload : undefined;
  return (
    typeof payload === "object" &&
    payload !== null &&
    "iss" in payload &&
    typeof payload.iss === "string" &&
    ownIssuers.includes(payload.iss)
  );
}
