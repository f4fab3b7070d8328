/** What the queue of one loop had to do since the process started. The queue changes it. */
export interface QueueCount {
  /** Keys that wait for their turn now, without those that wait for a time. */
  depth: number;
  adds: number;
  retries: number;
}

/** The counts of all loops, by their names. They go on when another term as leader makes new queues. */
export class QueueCounts {
  readonly #byName = new Map<string, QueueCount>();

  of(name: string): QueueCount {
    const known = this.#byName.get(name) ?? { depth: 0, adds: 0, retries: 0 };
    this.#byName.set(name, known);
    return known;
  }

  entries(): Iterable<readonly [name: string, count: Readonly<QueueCount>]> {
    return this.#byName;
  }
}
