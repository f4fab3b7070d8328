interface RecentlyUsedOptions<T> {
  readonly maximumEntries: number;
  /** What the values may weigh together, such as bytes. A heavier one is not kept. Absent: only their number is limited. */
  readonly maximumWeight?: number;
  readonly weightOf?: (value: T) => number;
  /** Called for each value that is dropped because of the limits. */
  readonly onDropped?: (value: T) => void;
}

/** Keeps the values that were used last, by key. Beyond the limits, it drops the least recently used ones. */
export class RecentlyUsed<T extends object | string> {
  /** The least recently used one first. */
  readonly #values = new Map<string, T>();
  readonly #maximumEntries: number;
  readonly #maximumWeight: number;
  readonly #weightOf: (value: T) => number;
  readonly #onDropped: ((value: T) => void) | undefined;
  #weight = 0;

  constructor({ maximumEntries, maximumWeight = Infinity, weightOf = () => 0, onDropped }: RecentlyUsedOptions<T>) {
    this.#maximumEntries = maximumEntries;
    this.#maximumWeight = maximumWeight;
    this.#weightOf = weightOf;
    this.#onDropped = onDropped;
  }

  /** All values, without using them. */
  values(): IterableIterator<T> {
    return this.#values.values();
  }

  get(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: T): void {
    this.delete(key);
    const weight = this.#weightOf(value);
    if (weight > this.#maximumWeight) return;
    this.#values.set(key, value);
    this.#weight += weight;
    for (const [oldest, dropped] of this.#values) {
      if (this.#values.size <= this.#maximumEntries && this.#weight <= this.#maximumWeight) return;
      this.delete(oldest);
      this.#onDropped?.(dropped);
    }
  }

  delete(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#weight -= this.#weightOf(value);
  }
}
