import { monotonicClock } from "../api/clock.ts";
import { messageOf } from "../api/thrown-error.ts";
import { LineLimit } from "./line-limit.ts";

export interface OutageReportOptions {
  /** Called for the first failure, and for a later one with another reason. */
  readonly onFailure: (reason: string) => void;
  /** Called for the first success after a failure. */
  readonly onRecovery: () => void;
}

const maximumReasonCharacters = 500;
/** Reasons may have something new in each, such as the id of a request, and failures may come and go. */
const failuresPerMinute = 10;

/**
 * Reports once that something fails, again when the reason changes, and once that it works again. A failure beyond ten in a minute is not
 * reported, nor is its end.
 */
export class OutageReport {
  readonly #options: OutageReportOptions;
  #reason: string | undefined;
  /** The last one of this outage that was reported. */
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
    const reason = messageOf(error).slice(0, maximumReasonCharacters);
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
