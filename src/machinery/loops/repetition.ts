import { requestedPauseMilliseconds } from "../api/api-error.ts";
import type { Sleep } from "../api/clock.ts";
import { backoffMilliseconds, unreachableBackoff } from "./backoff.ts";
import type { Backoff } from "./backoff.ts";
import { WakeSignal } from "../scheduling/wake-signal.ts";

export interface RepeatOptions {
  /** The longest pause after a success: each is up to 4 % shorter, by chance. */
  readonly intervalMilliseconds: number;
  readonly backoff?: Backoff;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly onFailure: (error: unknown) => void;
}

/**
 * The random part of an interval (upstream: kubelet's Leases and statuses). Without it, machines that started together after a power cut
 * would always send their requests at the same moment.
 */
const randomShare = 0.04;

/**
 * Runs an action at intervals. After a failure it waits with backoff, or as long as the server asks for (Retry-After), but no longer than
 * the longest backoff. `now` ends the wait.
 */
export class Repetition {
  readonly #action: (signal: AbortSignal) => Promise<void>;
  readonly #options: RepeatOptions;
  readonly #wake = new WakeSignal();

  constructor(action: (signal: AbortSignal) => Promise<void>, options: RepeatOptions) {
    this.#action = action;
    this.#options = options;
  }

  now(): void {
    this.#wake.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { intervalMilliseconds, backoff = unreachableBackoff, random, sleep, onFailure } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      this.#wake.renew();
      let requested = 0;
      try {
        await this.#action(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        requested = requestedPauseMilliseconds(error);
        onFailure(error);
      }
      const wait =
        failures === 0
          ? intervalMilliseconds * (1 - randomShare * random())
          : Math.max(
              backoffMilliseconds(backoff, { failures, random: random() }),
              Math.min(requested, backoff.longestMilliseconds),
            );
      await sleep(wait, this.#wake.or(signal));
    }
  }
}
