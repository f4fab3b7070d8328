import { millisecondsSince } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { RecentlyUsed } from "../../../machinery/api/recently-used.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";

interface Entry<T> {
  readonly value: T;
  readonly keptAt: number;
  /** The length of the token, because clients can request long tokens. The decoded claims take about as much memory. */
  readonly weight: number;
}

const lifetimeMilliseconds = 10_000;
const maximumEntries = 4096;
const maximumCharacters = 16 * 2 ** 20;

/**
 * Caches successful token verifications for ten seconds. Failures are never cached: a refused token may become valid in a moment (with a
 * new key), and invalid tokens must not evict valid ones. The keys are keyed digests instead of tokens, so neither a memory dump nor a
 * collision that was computed offline helps an attacker.
 */
export class VerifiedTokenCache<T> {
  readonly #digest = tokenDigest();
  readonly #clock: Clock;
  readonly #entries = new RecentlyUsed<Entry<T>>({
    maximumEntries,
    maximumWeight: maximumCharacters,
    weightOf: ({ weight }) => weight,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the cached result, or calls `verify` and caches its result unless that is undefined. */
  get(token: string, verify: () => T | undefined): T | undefined {
    const key = this.#digest(token);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (millisecondsSince(known.keptAt, this.#clock) < lifetimeMilliseconds) return known.value;
      this.#entries.delete(key);
    }
    const keptAt = this.#clock.now();
    const value = verify();
    if (value !== undefined) this.#entries.set(key, { value, keptAt, weight: token.length });
    return value;
  }
}
