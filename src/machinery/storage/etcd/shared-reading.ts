/**
 * Lets many callers share a reading without giving any of them one that began before it asked: while one is under way,
 * all who come wait for the same next one.
 */
export class SharedReading<T> {
  readonly #perform: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(perform: () => Promise<T>) {
    this.#perform = perform;
  }

  /** Rejects when its reading, or the one before it, does. */
  read(): Promise<T> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(() => this.#start()).finally(() => (this.#next = undefined));
    return this.#next;
  }

  #start(): Promise<T> {
    // From here on the next ones have begun too late to share this reading.
    this.#next = undefined;
    const running = this.#perform().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
