import type { AuthorizationAttributes, Decision } from "../../../machinery/api/attributes.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";
import type { Authorizer } from "../../../machinery/authorization/authorizer.ts";
import { RemoteQuestions, RemoteUnavailable } from "../../../machinery/client/remote-questions.ts";
import type { RemoteQuestionsOptions } from "../../../machinery/client/remote-questions.ts";
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
  /** The webhook did not answer, and the next authorizer decides. */
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
const nextOne: Decision = { decision: "noOpinion", reason: "" };

/** Asks a webhook for a decision (upstream: `webhook.WebhookAuthorizer`). */
export function webhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { name, settings, post, clock, observer, maximumPending, onChange, onFailure } = options;
  const { version, authorizedMilliseconds, unauthorizedMilliseconds, condition } = settings;
  const digest = tokenDigest();
  const questions = new RemoteQuestions<Decision>({
    clock,
    maximumPending,
    maximumKept,
    keep: ({ decision }) => {
      const isGood = decision === "allow";
      return { isGood, milliseconds: isGood ? authorizedMilliseconds : unauthorizedMilliseconds };
    },
    onChange,
  });
  const failed = (what: string): Decision => {
    if (settings.onFailure === "noOpinion") observer.onFailedOpen(name);
    return { decision: settings.onFailure, reason: "", evaluationError: `authorizer ${JSON.stringify(name)}: ${what}` };
  };
  const ask = async (spec: WebhookReviewSpec): Promise<Decision> => {
    const started = performance.now();
    const evaluated = (result: "success" | "timeout" | "error"): void =>
      observer.onEvaluated({ name, result, seconds: (performance.now() - started) / 1000 });
    try {
      const decision = decisionOf(await post(webhookReviewOf(spec, version)));
      evaluated("success");
      return decision;
    } catch (error) {
      evaluated(isTimeout(error) ? "timeout" : "error");
      onFailure(error);
      throw error;
    }
  };
  const notAnswered = (): Decision => failed("the webhook did not answer");
  return (attributes: AuthorizationAttributes) => {
    const spec = webhookReviewSpecOf(attributes);
    const matched = condition?.(spec) ?? "matches";
    if (matched === "excluded") {
      observer.onExcluded(name);
      return nextOne;
    }
    if (matched === "error") {
      observer.onConditionError(name);
      return failed("a match condition could not be evaluated");
    }
    try {
      const decision = questions.ask(digest(JSON.stringify(spec)), () => ask(spec));
      return decision instanceof Promise ? decision.catch(notAnswered) : decision;
    } catch (error) {
      if (error instanceof RemoteUnavailable) return notAnswered();
      throw error;
    }
  };
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === "TimeoutError" || isTimeout(error.cause));
