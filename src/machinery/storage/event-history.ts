export interface EventHistoryOptions<E> {
  readonly capacity: number;
  /** Of all kept events; the newest is kept even when it is larger. */
  readonly maximumBytes: number;
  bytesOf(event: E): number;
  readonly oldestRevision: number;
}

/** The newest events in order of revision: a bounded number of them, of bounded size together. */
export class EventHistory<E extends { readonly revision: number }> {
  readonly #options: EventHistoryOptions<E>;
  /** The kept events from #start on; what is before has been forgotten. */
  #events: (E | undefined)[] = [];
  #start = 0;
  #bytes = 0;
  #oldestRevision: number;

  constructor(options: EventHistoryOptions<E>) {
    this.#options = options;
    this.#oldestRevision = options.oldestRevision;
  }

  /** All events after this revision are known. */
  get oldestRevision(): number {
    return this.#oldestRevision;
  }

  push(event: E): void {
    const { capacity, maximumBytes, bytesOf } = this.#options;
    this.#events.push(event);
    this.#bytes += bytesOf(event);
    while (this.#length > capacity || (this.#bytes > maximumBytes && this.#length > 1)) this.#forgetOldest();
  }

  /** The kept events after a revision, oldest first. */
  after(revision: number): E[] {
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low) as E[]; // only what is before #start is undefined
  }

  get #length(): number {
    return this.#events.length - this.#start;
  }

  #forgetOldest(): void {
    const oldest = this.#events[this.#start];
    if (oldest === undefined) return;
    this.#bytes -= this.#options.bytesOf(oldest);
    this.#oldestRevision = oldest.revision;
    this.#events[this.#start] = undefined;
    this.#start += 1;
    // Half of the places are empty: moved then, each event is moved once on average.
    if (this.#start * 2 < this.#events.length) return;
    this.#events = this.#events.slice(this.#start);
    this.#start = 0;
  }
}
