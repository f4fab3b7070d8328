/** The newest events in order of revision, a bounded number of them. */
export class EventHistory<E extends { readonly revision: number }> {
  readonly #capacity: number;
  /** A ring: grows to the capacity, then the oldest gives its place to the newest. */
  readonly #events: E[] = [];
  #oldestIndex = 0;
  #oldestRevision: number;

  constructor({ capacity, oldestRevision }: { readonly capacity: number; readonly oldestRevision: number }) {
    this.#capacity = capacity;
    this.#oldestRevision = oldestRevision;
  }

  /** All events after this revision are known. */
  get oldestRevision(): number {
    return this.#oldestRevision;
  }

  push(event: E): void {
    if (this.#events.length < this.#capacity) {
      this.#events.push(event);
      return;
    }
    this.#oldestRevision = this.#events[this.#oldestIndex]?.revision ?? event.revision;
    if (this.#capacity === 0) return;
    this.#events[this.#oldestIndex] = event;
    this.#oldestIndex = (this.#oldestIndex + 1) % this.#capacity;
  }

  /** The kept events after a revision, oldest first. */
  after(revision: number): E[] {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#at(middle)?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    const found: E[] = [];
    for (let index = low; index < this.#events.length; index++) found.push(this.#at(index) as E); // below its length
    return found;
  }

  #at(index: number): E | undefined {
    return this.#events[(this.#oldestIndex + index) % this.#events.length];
  }
}
