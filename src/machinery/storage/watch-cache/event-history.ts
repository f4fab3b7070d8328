export interface EventHistoryOptions<E> {
  readonly capacity: number;
  /** The limit for all kept events together. The newest event is kept even when it is larger. */
  readonly maximumBytes: number;
  bytesOf(event: E): number;
  readonly oldestRevision: number;
  /** Called for each event that the history drops. */
  onForgotten?(event: E): void;
}

/** Keeps the newest events in revision order, limited in number and in total size. */
export class EventHistory<E extends { readonly revision: number }> {
  readonly #options: EventHistoryOptions<E>;
  /** The kept events start at index `#start`. Earlier entries are undefined. */
  #events: (E | undefined)[] = [];
  #start = 0;
  #bytes = 0;
  #oldestRevision: number;

  constructor(options: EventHistoryOptions<E>) {
    this.#options = options;
    this.#oldestRevision = options.oldestRevision;
  }

  /** The revision after which all events are kept. */
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
    return this.#events.slice(low) as E[]; // only entries before #start are undefined
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
    this.#options.onForgotten?.(oldest);
    // Shorten the array when half of its entries are empty: then each event is moved once on average.
    if (this.#start * 2 < this.#events.length) return;
    this.#events = this.#events.slice(this.#start);
    this.#start = 0;
  }
}
