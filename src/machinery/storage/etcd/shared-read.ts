import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Lets many callers share one read. No caller gets the result of a read that started before its call: while a read is in
 * progress, all new callers wait for the same next read, which starts at the end of a turn of the event loop.
 */
export class SharedRead<T> {
  readonly #perform: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(perform: () => Promise<T>) {
    this.#perform = perform;
  }

  /** Rejects when its read, or the read before it, fails. */
  read(): Promise<T> {
    this.#next ??= this.#readAfter(this.#running);
    return this.#next;
  }

  async #readAfter(previous: Promise<T> | undefined): Promise<T> {
    try {
      await previous;
      // The callers of the last read often call again in this turn, so that they share the next one.
      await nextTurn();
    } finally {
      // The read starts: later callers must not share it.
      this.#next = undefined;
    }
    const running = this.#perform().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return await running;
  }
}
