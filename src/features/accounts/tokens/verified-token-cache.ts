import type { Clock } from "../../../machinery/api/clock.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";

interface Entry<T> {
  readonly value: T;
  readonly validUntil: number;
}

export interface VerifiedTokenCacheOptions {
  readonly clock: Clock;
  /** Milliseconds that a good result is kept. Default 10 s. */
  readonly lifetimeMilliseconds?: number;
  /** The least recently used beyond this are dropped. Default 4096. */
  readonly maximumEntries?: number;
}

/**
 * Good results of verifying tokens, for a short time. Bad ones are never kept: a token that is refused now may be good
 * in a moment (a new key), and garbage must not push out what is used. Tokens themselves are not kept, only keyed digests:
 * neither a memory dump of the table nor a collision that an attacker computes offline is of use.
 */
export class VerifiedTokenCache<T> {
  readonly #digest = tokenDigest();
  readonly #entries = new Map<string, Entry<T>>();
  readonly #clock: Clock;
  readonly #lifetimeMilliseconds: number;
  readonly #maximumEntries: number;

  constructor({ clock, lifetimeMilliseconds = 10_000, maximumEntries = 4096 }: VerifiedTokenCacheOptions) {
    this.#clock = clock;
    this.#lifetimeMilliseconds = lifetimeMilliseconds;
    this.#maximumEntries = maximumEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The kept result, or that of `verify`, which is kept unless it is undefined. */
  get(token: string, verify: () => T | undefined): T | undefined {
    const key = this.#digest(token);
    const now = this.#clock.now();
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      if (now < known.validUntil) {
        this.#entries.set(key, known); // now the most recently used
        return known.value;
      }
    }
    const value = verify();
    if (value !== undefined) this.#keep(key, { value, validUntil: now + this.#lifetimeMilliseconds });
    return value;
  }

  #keep(key: string, entry: Entry<T>): void {
    if (this.#entries.size >= this.#maximumEntries) {
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    }
    this.#entries.set(key, entry);
  }
}
