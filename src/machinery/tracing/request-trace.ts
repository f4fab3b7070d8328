import { channel } from "node:diagnostics_channel";
import type { ApiError } from "../api/api-error.ts";
import { shortened } from "../api/text/format-value.ts";
import { currentActivity } from "./activity.ts";
import type { Activity } from "./activity.ts";

/** The steps of a request, in their usual order. A write that is tried again repeats some steps. */
type StepName =
  | "parse"
  | "authenticate"
  | "queue"
  | "impersonate"
  | "authorize"
  | "handle"
  | "wait for fresh cache"
  | "read body"
  | "decode"
  | "mutating admission"
  | "validation"
  | "validating admission"
  | "store"
  | "sign"
  | "encode"
  | "compress";

export interface RequestStep {
  readonly step: StepName;
  /** What the step decided and why, in a few words; "" when it had nothing to decide. */
  readonly decided: string;
  /** The time until the next step began. */
  readonly microseconds: number;
}

/**
 * One answered request, as subscribers of `signet:request` get it. It contains no other header, no body, no credential, and of the query
 * only the parameters of the API. A watch counts as answered when its stream begins.
 */
export interface TracedRequest {
  /** The id of the request in the audit log. */
  readonly auditId: string;
  readonly method: string;
  readonly uri: string;
  /** The authenticated user; undefined when authentication failed. */
  readonly user: string | undefined;
  readonly status: number;
  /** The `traceparent` header of the caller (W3C Trace Context). Not parsed. */
  readonly traceparent: string | undefined;
  readonly microseconds: number;
  readonly steps: readonly RequestStep[];
  /** This trace. Client requests that were sent while it ran have the same activity. */
  readonly activity: Activity;
  /** The id of the exported trace, for exemplars. A subscriber that exports the request sets it. */
  exportedAs?: string;
}

/** Publishes one TracedRequest for each request. Without a subscriber nothing is measured or created. */
export const requestChannel = channel("signet:request");

/** A deletion of a collection has thousands of steps: the steps after this many count as one. */
const maximumSteps = 64;
const maximumFields = 8;
/** The longest text of what one step decided. */
const maximumCharacters = 512;

/** The trace of the current request; undefined without a subscriber. */
export function currentTrace(): RequestTrace | undefined {
  if (!requestChannel.hasSubscribers) return undefined;
  const activity = currentActivity.getStore();
  return activity instanceof RequestTrace ? activity : undefined;
}

/** The steps of one request so far, with their decisions and times. */
export class RequestTrace {
  /** The `traceparent` header of the caller. */
  readonly traceparent: string | undefined;
  readonly #startedAt = performance.now();
  readonly #steps: { readonly step: StepName; readonly startedAt: number; decided: string }[] = [];
  #isPublished = false;

  constructor(traceparent?: string) {
    this.traceparent = traceparent;
  }

  /** Runs a function in which `currentTrace` finds this trace. */
  run<T>(answer: () => T): T {
    return currentActivity.run(this, answer);
  }

  /** Ends the previous step and starts the next. A step that has already started continues. */
  begin(step: StepName): void {
    if (this.#isPublished || this.#steps.at(-1)?.step === step || this.#steps.length === maximumSteps) return;
    this.#steps.push({ step, startedAt: performance.now(), decided: "" });
  }

  /** Sets the decision of the current step, in place of an earlier one. Never pass a secret. */
  decided(text: string): void {
    const current = this.#steps.at(-1);
    if (current !== undefined && !this.#isPublished) current.decided = shortened(text, maximumCharacters);
  }

  /** Adds a text to the decision of the current step. */
  note(text: string): void {
    const before = this.#steps.at(-1)?.decided ?? "";
    this.decided(before === "" ? text : `${shortened(before, maximumCharacters / 4)}; ${text}`);
  }

  /** Notes that the current step refused the request. The error's message is omitted, because it may quote the request. */
  refused({ code, reason, details }: ApiError): void {
    const fields = (details?.causes ?? []).flatMap(({ field }) => field ?? []).slice(0, maximumFields);
    this.note(`refused: ${code} ${reason ?? ""}${fields.length === 0 ? "" : ` (${fields.join(", ")})`}`.trimEnd());
  }

  /** Publishes the trace. Returns the id of the trace that a subscriber has exported. */
  publish(answered: Omit<TracedRequest, "microseconds" | "steps" | "activity" | "traceparent">): string | undefined {
    this.#isPublished = true;
    const endedAt = performance.now();
    const steps = this.#steps.map(({ step, decided, startedAt }, index) => ({
      step,
      decided,
      microseconds: microseconds(startedAt, this.#steps[index + 1]?.startedAt ?? endedAt),
    }));
    const message: TracedRequest = {
      ...answered,
      traceparent: this.traceparent,
      microseconds: microseconds(this.#startedAt, endedAt),
      steps,
      activity: this,
    };
    requestChannel.publish(message);
    return message.exportedAs;
  }
}

const microseconds = (startedAt: number, endedAt: number): number => Math.round((endedAt - startedAt) * 1000);
