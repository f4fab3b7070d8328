import type { Clock } from "../api/clock.ts";

/**
 * How long a process must have seen that something is due before it deletes it for its age: a clock that is ahead for less, as after a
 * start, deletes nothing.
 */
export const deletionDelayMilliseconds = 3_600_000;

/** Since when this process has seen that things are due, by their keys and the monotonic clock. */
export class DeletionDelays {
  readonly #monotonic: Clock;
  readonly #since = new Map<string, number>();

  constructor(monotonic: Clock) {
    this.#monotonic = monotonic;
  }

  /** How much longer something that is due must be seen to be so, in milliseconds. Not positive: it may be deleted. */
  wait(key: string): number {
    const now = this.#monotonic.now();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    return since + deletionDelayMilliseconds - now;
  }

  /** Nothing else is due, or it is gone. */
  keep(due: ReadonlySet<string>): void {
    for (const key of this.#since.keys()) if (!due.has(key)) this.#since.delete(key);
  }

  /** It is not due, or gone. */
  forget(key: string): void {
    this.#since.delete(key);
  }
}
