import { jsonFields } from "../../../machinery/api/json/json-object.ts";
import { tooManyRequests } from "../../../machinery/api/api-error.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import {
  RemoteQuestions,
  RemoteUnavailable,
  TooManyQuestions,
} from "../../../machinery/client/webhooks/remote-questions.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";
import { commonAudiences } from "../../../machinery/authentication/token-authentication.ts";
import type { VerifyToken, TokenOutcome } from "../../../machinery/authentication/token-authentication.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";
import { parseJson } from "../../../machinery/schema/parse-json.ts";

/** The webhook's answer about a token (`status` of its TokenReview). */
export interface WebhookAnswer {
  readonly isAuthenticated: boolean;
  readonly user: UserInfo;
  /** Empty: the webhook does not know audiences. */
  readonly audiences: readonly string[];
  readonly error: string;
}

/** Asks the webhook. Rejects when there is no usable answer. */
export type AskWebhook = (token: string, audiences: readonly string[]) => Promise<WebhookAnswer>;

interface WebhookTokenOptions {
  readonly ask: AskWebhook;
  readonly clock: Clock;
  readonly apiAudiences: readonly string[];
  /** The server's own issuers, whose tokens are not sent to anyone. */
  readonly ownIssuers: readonly string[];
  readonly cacheMilliseconds: number;
  /** Called when the webhook becomes unavailable, and when it answers again. */
  readonly onChange: (change: { readonly isAvailable: boolean; readonly error?: unknown }) => void;
}

const longestToken = 64 * 1024;
/** The most characters of a webhook's error that are kept, logged and shown. */
const longestError = 1024;
const maximumKept = 4096;
const maximumPending = 200;
/** Of the parts of a text between its dots, so many may have a payload of this server. */
const maximumParts = 64;
const unavailable = "the webhook that checks tokens cannot be asked now";
const tooMany = "Too many requests wait for the webhook that checks tokens, please try again later.";

/**
 * Asks a webhook about tokens that no other verifier knows (upstream: `webhook.WebhookTokenAuthenticator`). Successful and failed results
 * are cached separately, so that made-up tokens do not evict valid ones. Concurrent requests with the same token and audiences share one
 * call. A token that repeatedly gets no answer is refused at once for a while; other tokens are not affected. Rejects with a 429 ApiError
 * when too many requests wait.
 */
export function webhookTokens(options: WebhookTokenOptions): VerifyToken {
  const { ask, clock, apiAudiences, ownIssuers, cacheMilliseconds, onChange } = options;
  const digest = tokenDigest();
  const questions = new RemoteQuestions<TokenOutcome>({
    clock,
    maximumPending,
    // Each token is paused alone, and many tokens without an answer cause no common pause, because anybody can make up tokens.
    pauseAfter: { failuresOfAsker: 5, askers: Number.POSITIVE_INFINITY },
    maximumKept,
    keep: ({ outcome }) => ({ isGood: outcome === "authenticated", milliseconds: cacheMilliseconds }),
    onChange,
  });
  return (token, { audiences, asker }) => {
    if (token.length > longestToken || isOwn(token, ownIssuers)) return notApplicable;
    const key = digest(`${JSON.stringify(audiences)}${token}`);
    try {
      const outcome = questions.ask({ key, asker, pausedAs: key }, async () => {
        const answer = await ask(token, audiences);
        const error = answer.error.replaceAll(token, "REDACTED").slice(0, longestError).toWellFormed();
        return outcomeOfAnswer({ ...answer, error }, { audiences, apiAudiences });
      });
      return outcome instanceof Promise ? outcome.catch(() => refused(unavailable)) : outcome;
    } catch (error) {
      // Not a refusal: it would mean that the token is invalid, and clients discard invalid tokens.
      if (error instanceof TooManyQuestions) return Promise.reject(tooManyRequests(tooMany, 1));
      if (error instanceof RemoteUnavailable) return refused(unavailable);
      throw error;
    }
  };
}

/** The outcome of an answer. When the webhook knows no audiences, its answer is for the audiences of this API, as in upstream. */
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

/**
 * Whether a text has a token of this server in it. A line feed, quotes or other text around a token make it invalid here, but whoever gets
 * the text can take the token out of it.
 */
const isOwn = (text: string, ownIssuers: readonly string[]): boolean =>
  // Node.js leaves out characters that are no base64, but stops at a `=`.
  text
    .replaceAll("=", "")
    .split(".", maximumParts)
    .slice(1) // a token's payload comes behind a dot
    .map(issuerIn)
    .some((issuer) => typeof issuer === "string" && ownIssuers.includes(issuer));

function issuerIn(payload: string): unknown {
  try {
    return jsonFields(parseJson(Buffer.from(payload, "base64url").toString()).value)["iss"];
  } catch {
    return undefined;
  }
}
