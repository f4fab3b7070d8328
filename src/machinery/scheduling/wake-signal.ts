/**
 * Wakes a loop, again and again: an AbortController does so once. The loop calls `renew` before it looks at what there is to do, so that
 * it misses nothing that comes while it works.
 *
 * `AbortSignal.any` is called once for each wake, and not for each sleep: before version 24, Node.js keeps a part of each of its signals
 * for as long as one of the sources lives.
 */
export class WakeSignal {
  #waking = new AbortController();
  #ending: AbortSignal | undefined;
  #either = this.#waking.signal;

  /** Aborts when the loop is woken, or `ending` aborts. */
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
