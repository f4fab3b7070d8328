import { monotonicClock } from "../api/clock.ts";
import { messageOf } from "../api/thrown-error.ts";
import { LineLimit } from "./line-limit.ts";

interface OutageReportOptions {
  /** Called for the first failure, and for a later failure with another reason. */
  readonly onFailure: (reason: string) => void;
  /** Called for the first success after a failure. */
  readonly onRecovery: () => void;
}

const maximumReasonCharacters = 500;
/** Limits the reports: each reason may be different, for instance with the id of a request, and failures may alternate with successes. */
const failuresPerMinute = 10;

/**
 * Reports an outage once, again when its reason changes, and once when it has ended. At most ten failures in a minute are reported. The end
 * of an outage without a reported failure is not reported.
 */
export class OutageReport {
  readonly #options: OutageReportOptions;
  #reason: string | undefined;
  /** The last reported reason of this outage. */
  #reported: string | undefined;
  readonly #limit = new LineLimit({
    clock: monotonicClock,
    lines: failuresPerMinute,
    intervalMilliseconds: 60_000,
  });

  constructor(options: OutageReportOptions) {
    this.#options = options;
  }

  /** Why the last attempt failed. Undefined: it succeeded, or there was no attempt yet. */
  get reason(): string | undefined {
    return this.#reason;
  }

  failed(error: unknown): void {
    const reason = messageOf(error).slice(0, maximumReasonCharacters).toWellFormed();
    this.#reason = reason;
    if (reason === this.#reported || this.#limit.take() === undefined) return;
    this.#reported = reason;
    this.#options.onFailure(reason);
  }

  succeeded(): void {
    this.#reason = undefined;
    if (this.#reported === undefined) return;
    this.#reported = undefined;
    this.#options.onRecovery();
  }
}
