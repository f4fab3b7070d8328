/**
 * Lets many callers share one read. No caller gets a read that started before its call: while a read is in progress,
 * all new callers wait for the same next one.
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
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(() => this.#start()).finally(() => (this.#next = undefined));
    return this.#next;
  }

  #start(): Promise<T> {
    // The next read has started: later callers must not share it.
    this.#next = undefined;
    const running = this.#perform().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
