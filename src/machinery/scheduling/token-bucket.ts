import type { Clock } from "../api/clock.ts";

export interface TokenBucketOptions {
  /** How many tokens there are at first, and at most. */
  readonly burst: number;
  readonly perSecond: number;
  readonly clock: Clock;
}

/** Allows a burst, and so many a second on average. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAt = options.clock.now();
  }

  /** How many tokens there are now. It need not be a whole number. */
  available(): number {
    const { perSecond, clock } = this.#options;
    const now = clock.now();
    // A clock that is set back must not take tokens away.
    this.add((Math.abs(now - this.#filledAt) / 1000) * perSecond);
    this.#filledAt = now;
    return this.#tokens;
  }

  /** How long it takes until so many tokens are available. */
  millisecondsUntil(tokens: number): number {
    return Math.ceil(((tokens - this.available()) / this.#options.perSecond) * 1000);
  }

  /** Adds tokens, up to the burst. */
  add(tokens: number): void {
    this.#tokens = Math.min(this.#options.burst, this.#tokens + tokens);
  }

  /** Takes tokens that are available. */
  take(tokens = 1): void {
    this.#tokens -= tokens;
  }
}
