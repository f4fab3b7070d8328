import type { Clock } from "../../../machinery/api/clock.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";

interface Entry<T> {
  readonly value: T;
  readonly validUntil: number;
}

export interface VerifiedTokenCacheOptions {
  readonly clock: Clock;
  /** How long to keep a successful result, in milliseconds. Default 10 s. */
  readonly lifetimeMilliseconds?: number;
  /** When there are more entries, the least recently used are dropped. Default 4096. */
  readonly maximumEntries?: number;
}

/**
 * Caches successful token verifications for a short time. Failures are never cached: a refused token may become valid
 * in a moment (a new key), and invalid tokens must not evict used ones. It stores keyed digests instead of tokens, so
 * neither a memory dump nor a collision that was computed offline helps an attacker.
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

  /** Returns the cached result, or calls `verify` and caches its result unless that is undefined. */
  get(token: string, verify: () => T | undefined): T | undefined {
    const key = this.#digest(token);
    const now = this.#clock.now();
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      if (now < known.validUntil) {
        this.#entries.set(key, known); // moves it to the end: most recently used
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
