import type { Clock } from "../api/clock.ts";

/**
 * How long a process must have seen that an object is due before it deletes the object for its age. So a clock that is ahead for a
 * shorter time, for instance after the machine's start, deletes nothing.
 */
export const deletionDelayMilliseconds = 3_600_000;

/** Since when this process has seen that objects are due for deletion, by their keys. Measured with the monotonic clock. */
export class DeletionDelays {
  readonly #monotonic: Clock;
  readonly #since = new Map<string, number>();

  constructor(monotonic: Clock) {
    this.#monotonic = monotonic;
  }

  /** Returns how many milliseconds an object must stay due before it may be deleted. 0 or less: delete it now. */
  wait(key: string): number {
    const now = this.#monotonic.now();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    return since + deletionDelayMilliseconds - now;
  }

  /** Forgets all keys but these, because their objects are not due any more, or gone. */
  keep(due: ReadonlySet<string>): void {
    for (const key of this.#since.keys()) if (!due.has(key)) this.#since.delete(key);
  }

  /** Forgets a key whose object is not due any more, or gone. */
  forget(key: string): void {
    this.#since.delete(key);
  }
}
