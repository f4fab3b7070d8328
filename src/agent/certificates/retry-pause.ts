import type { Clock } from "../../machinery/api/clock.ts";
import { backoffMilliseconds } from "../../machinery/loops/backoff.ts";
import type { Backoff } from "../../machinery/loops/backoff.ts";

interface RetryPauseOptions {
  /** A clock that is never set. */
  readonly monotonic: Clock;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
}

/** The pause after a try that has failed. It grows with the tries in a row that have failed in the same way. */
export class RetryPause {
  readonly #options: RetryPauseOptions;
  #endsAt = 0;
  /** By the kind of failure: an outage says nothing about how soon people act. */
  readonly #failures = new Map<Backoff, number>();

  constructor(options: RetryPauseOptions) {
    this.#options = options;
  }

  /** The time until the next try may begin. */
  get leftMilliseconds(): number {
    return Math.max(0, this.#endsAt - this.#options.monotonic.now());
  }

  /** Counts a failure, and begins a pause. Returns its length in milliseconds. */
  begin(backoff: Backoff, atLeastMilliseconds = 0): number {
    const { monotonic, random } = this.#options;
    const failures = (this.#failures.get(backoff) ?? 0) + 1;
    this.#failures.set(backoff, failures);
    const wait = Math.max(atLeastMilliseconds, backoffMilliseconds(backoff, { failures, random: random() }));
    this.#endsAt = monotonic.now() + wait;
    return wait;
  }

  /** Lets the next try begin now. */
  end(): void {
    this.#endsAt = 0;
  }

  /** After a success: the next pause is a short one again. */
  forgetFailures(): void {
    this.#failures.clear();
  }
}
