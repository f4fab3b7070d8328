import { millisecondsSince } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";

interface Entry<T> {
  readonly value: T;
  readonly keptAt: number;
  /** The length of the token. The decoded claims take about as much memory. */
  readonly weight: number;
}

export interface VerifiedTokenCacheOptions {
  readonly clock: Clock;
  /** How long to keep a successful result, in milliseconds. Default 10 s. */
  readonly lifetimeMilliseconds?: number;
  /** When there are more entries, the least recently used are dropped. Default 4096. */
  readonly maximumEntries?: number;
  /** The maximum total length of cached tokens, because clients can request long tokens. Default 16 Mi. */
  readonly maximumCharacters?: number;
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
  readonly #maximumCharacters: number;
  #characters = 0;

  constructor({
    clock,
    lifetimeMilliseconds = 10_000,
    maximumEntries = 4096,
    maximumCharacters = 16 * 2 ** 20,
  }: VerifiedTokenCacheOptions) {
    this.#clock = clock;
    this.#lifetimeMilliseconds = lifetimeMilliseconds;
    this.#maximumEntries = maximumEntries;
    this.#maximumCharacters = maximumCharacters;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the cached result, or calls `verify` and caches its result unless that is undefined. */
  get(token: string, verify: () => T | undefined): T | undefined {
    const key = this.#digest(token);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (millisecondsSince(known.keptAt, this.#clock) < this.#lifetimeMilliseconds) {
        // Reinserting makes it the last entry: the most recently used one.
        this.#entries.delete(key);
        this.#entries.set(key, known);
        return known.value;
      }
      this.#drop(key, known);
    }
    const keptAt = this.#clock.now();
    const value = verify();
    if (value !== undefined) this.#keep(key, { value, keptAt, weight: token.length });
    return value;
  }

  #keep(key: string, entry: Entry<T>): void {
    if (entry.weight > this.#maximumCharacters) return;
    this.#entries.set(key, entry);
    this.#characters += entry.weight;
    for (const [oldest, { weight }] of this.#entries) {
      if (this.#entries.size <= this.#maximumEntries && this.#characters <= this.#maximumCharacters) return;
      this.#drop(oldest, { weight });
    }
  }

  #drop(key: string, { weight }: { readonly weight: number }): void {
    this.#entries.delete(key);
    this.#characters -= weight;
  }
}
