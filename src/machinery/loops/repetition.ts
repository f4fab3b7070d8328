import type { Sleep } from "../api/clock.ts";

/** How long to wait after failures in a row. Milliseconds. */
export interface Backoff {
  readonly firstMilliseconds: number;
  readonly longestMilliseconds: number;
}

/** The server is away, or answers with an error: it may be back in a moment. */
export const unreachableBackoff: Backoff = { firstMilliseconds: 500, longestMilliseconds: 30_000 };

/**
 * The wait after the n-th failure in a row (from 1): it doubles up to the longest. Half of it is random, so that many
 * machines that lost a server do not return as one. `random` is from 0 to 1.
 */
export function backoffMilliseconds(
  { firstMilliseconds, longestMilliseconds }: Backoff,
  { failures, random }: { readonly failures: number; readonly random: number },
): number {
  const whole = Math.min(longestMilliseconds, firstMilliseconds * 2 ** Math.min(failures - 1, 30));
  return whole / 2 + (whole / 2) * random;
}

export interface RepeatOptions {
  /** Between successes, at most: each is up to 4 % shorter. */
  readonly intervalMilliseconds: number;
  readonly backoff?: Backoff;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly onFailure: (error: unknown) => void;
}

/**
 * As much of an interval is random (upstream: kubelet's Leases and statuses), so that machines that started together after a power
 * cut do not ask a server together for ever.
 */
const randomShare = 0.04;

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
        failures++;
        onFailure(error);
      }
      const wait =
        failures === 0
          ? intervalMilliseconds * (1 - randomShare * random())
          : backoffMilliseconds(backoff, { failures, random: random() });
      await sleep(wait, AbortSignal.any([signal, this.#wake.signal]));
    }
  }
}
