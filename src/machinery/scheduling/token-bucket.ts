import type { Clock } from "../api/clock.ts";

export interface TokenBucketOptions {
  /** The number of tokens at first, and the largest number. */
  readonly burst: number;
  readonly perSecond: number;
  readonly clock: Clock;
}

/** A token bucket: allows a burst of events, and `perSecond` events a second on average. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAt = options.clock.now();
  }

  /** Returns how many tokens are available now, which need not be a whole number. */
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

  /** Takes tokens. Call it only when so many are available. */
  take(tokens = 1): void {
    this.#tokens -= tokens;
  }
}
