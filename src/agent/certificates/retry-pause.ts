import type { Clock } from "../../machinery/api/clock.ts";
import { backoffMilliseconds } from "../../machinery/loops/backoff.ts";
import type { Backoff } from "../../machinery/loops/backoff.ts";

interface RetryPauseOptions {
  /** A clock that changes of the system time do not affect. */
  readonly monotonic: Clock;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
}

/** The pause after a failed try. It grows with the number of consecutive failures of the same kind. */
export class RetryPause {
  readonly #options: RetryPauseOptions;
  #endsAt = 0;
  /** The number of failures by their kind, because an outage says nothing about how soon people act on a denial. */
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

  /** Ends the pause, so that the next try may begin now. */
  end(): void {
    this.#endsAt = 0;
  }

  /** Call it after a success: the next pause is short again. */
  forgetFailures(): void {
    this.#failures.clear();
  }
}
