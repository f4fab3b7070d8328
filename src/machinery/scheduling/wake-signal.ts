/**
 * Wakes a sleeping loop any number of times, where an AbortController could do so once. The loop calls `renew` before it looks for work,
 * so that a wake during its work is not lost.
 *
 * `AbortSignal.any` is called once for each wake, not for each sleep: before version 24, Node.js keeps a part of each signal that it
 * returns for as long as one of the source signals lives.
 */
export class WakeSignal {
  #waking = new AbortController();
  #ending: AbortSignal | undefined;
  #either = this.#waking.signal;

  /** Returns a signal that aborts when the loop is woken, or `ending` aborts. */
  or(ending: AbortSignal): AbortSignal {
    if (this.#ending !== ending) {
      this.#ending = ending;
      this.#either = AbortSignal.any([ending, this.#waking.signal]);
    }
    return this.#either;
  }

  /** Forgets the wakes until now. */
  renew(): void {
    if (!this.#waking.signal.aborted) return;
    this.#waking = new AbortController();
    this.#ending = undefined;
  }

  wake(): void {
    this.#waking.abort();
  }
}
