import { tooManyRequests } from "../../../machinery/api/api-error.ts";
import type { AuthorizationAttributes, Decision } from "../../../machinery/api/attributes.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";
import type { Authorizer } from "../../../machinery/authorization/authorizer.ts";
import {
  RemoteQuestions,
  RemoteUnavailable,
  TooManyQuestions,
} from "../../../machinery/client/webhooks/remote-questions.ts";
import type { RemoteQuestionsOptions } from "../../../machinery/client/webhooks/remote-questions.ts";
import { sharePath } from "../../../machinery/scheduling/share-path.ts";
import type { SharePath } from "../../../machinery/scheduling/share-path.ts";
import type { WebhookAuthorizerSettings } from "../settings.ts";
import { webhookReviewOf, webhookReviewSpecOf, decisionOf } from "./webhook-review.ts";
import type { WebhookReviewSpec } from "./webhook-review.ts";

/** Receives the outcome of each request that reaches a webhook authorizer. */
export interface WebhookObserver {
  onEvaluated(evaluation: {
    readonly name: string;
    readonly result: "success" | "timeout" | "error";
    readonly seconds: number;
  }): void;
  /** Called when the webhook did not answer and the next authorizer decides. */
  onFailedOpen(name: string): void;
  onExcluded(name: string): void;
  onConditionError(name: string): void;
}

export interface WebhookAuthorizerOptions extends Pick<
  RemoteQuestionsOptions<Decision>,
  "maximumPending" | "onChange"
> {
  readonly name: string;
  readonly settings: Pick<
    WebhookAuthorizerSettings,
    "version" | "authorizedMilliseconds" | "unauthorizedMilliseconds" | "onFailure" | "condition"
  >;
  /** Posts a review and returns the fields of the answer. */
  readonly post: (review: unknown) => Promise<Readonly<Record<string, unknown>>>;
  readonly clock: Clock;
  readonly observer: WebhookObserver;
  readonly onFailure: (error: unknown) => void;
}

const maximumKept = 8192;
const noOpinion: Decision = { decision: "noOpinion", reason: "" };

/**
 * Asks a webhook for a decision (upstream: `webhook.WebhookAuthorizer`). When it does not answer, `settings.onFailure` is the decision.
 * Rejects with a 429 ApiError when too many requests wait for the webhook.
 */
export function webhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { name, settings, observer } = options;
  const digest = tokenDigest();
  const questions = questionsTo(options);
  const failed = (what: string): Decision => {
    if (settings.onFailure === "noOpinion") observer.onFailedOpen(name);
    return { decision: settings.onFailure, reason: "", evaluationError: `authorizer ${JSON.stringify(name)}: ${what}` };
  };
  const tooMany = `Too many requests wait for the authorizer ${JSON.stringify(name)}, please try again later.`;
  const notAnswered = (): Decision => failed("the webhook did not answer");
  return (attributes: AuthorizationAttributes) => {
    const spec = webhookReviewSpecOf(attributes);
    const matched = settings.condition?.(spec) ?? "matches";
    if (matched === "excluded") {
      observer.onExcluded(name);
      return noOpinion;
    }
    if (matched === "error") {
      observer.onConditionError(name);
      return failed("a match condition could not be evaluated");
    }
    try {
      const asker = (): SharePath => sharePath(attributes.askedBy ?? attributes.user);
      const decision = questions.ask({ key: digest(JSON.stringify(spec)), asker }, () => askWebhook(spec, options));
      return decision instanceof Promise ? decision.catch(notAnswered) : decision;
    } catch (error) {
      // An overloaded webhook might have denied the request, so it must not be skipped: otherwise a user could avoid it by many requests.
      // The error is a promise, because expressions of policies cannot catch a promise.
      if (error instanceof TooManyQuestions) return Promise.reject(tooManyRequests(tooMany, 1));
      if (error instanceof RemoteUnavailable) return notAnswered();
      throw error;
    }
  };
}

/** The questions to a webhook that wait, and the decisions that are kept. */
function questionsTo({
  settings,
  clock,
  maximumPending,
  onChange,
}: WebhookAuthorizerOptions): RemoteQuestions<Decision> {
  const { authorizedMilliseconds, unauthorizedMilliseconds } = settings;
  return new RemoteQuestions<Decision>({
    clock,
    maximumPending,
    pauseAfter: {
      // No pause when a failure lets the next authorizer decide: otherwise a user who makes the webhook hang could avoid its decision.
      failuresOfAsker: settings.onFailure === "noOpinion" ? Number.POSITIVE_INFINITY : 5,
      askers: 5,
    },
    maximumKept,
    keep: ({ decision }) => {
      const isGood = decision === "allow";
      return { isGood, milliseconds: isGood ? authorizedMilliseconds : unauthorizedMilliseconds };
    },
    onChange,
  });
}

async function askWebhook(
  spec: WebhookReviewSpec,
  { name, settings, post, observer, onFailure }: WebhookAuthorizerOptions,
): Promise<Decision> {
  const started = performance.now();
  const evaluated = (result: "success" | "timeout" | "error"): void =>
    observer.onEvaluated({ name, result, seconds: (performance.now() - started) / 1000 });
  try {
    const decision = decisionOf(await post(webhookReviewOf(spec, settings.version)));
    evaluated("success");
    return decision;
  } catch (error) {
    evaluated(isTimeout(error) ? "timeout" : "error");
    onFailure(error);
    throw error;
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === "TimeoutError" || isTimeout(error.cause));
