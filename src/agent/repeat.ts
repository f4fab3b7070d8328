import { backoffMilliseconds, unreachableBackoff } from "./backoff.ts";
import type { Backoff } from "./backoff.ts";
import type { Sleep } from "./sleep.ts";

export interface RepeatOptions {
  /** Between successes. */
  readonly intervalMilliseconds: number;
  readonly backoff?: Backoff;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly sleep: Sleep;
  /** Called with each failure and how many there were in a row. */
  readonly onFailure: (error: unknown, failures: number) => void;
}

/** Does something at intervals, and after failures with backoff. `now` makes it happen at once. */
export class Repetition {
  readonly #action: (signal: AbortSignal) => Promise<void>;
  readonly #options: RepeatOptions;
  #wake = new AbortController();

  constructor(action: (signal: AbortSignal) => Promise<void>, options: RepeatOptions) {
    this.#action = action;
    this.#options = options;
  }

  now(): void {
    this.#wake.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { intervalMilliseconds, backoff = unreachableBackoff, random, sleep, onFailure } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      try {
        await this.#action(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        onFailure(error, ++failures);
      }
      const wait = failures === 0 ? intervalMilliseconds : backoffMilliseconds(backoff, { failures, random: random() });
      await sleep(wait, AbortSignal.any([signal, this.#wake.signal]));
    }
  }
}
