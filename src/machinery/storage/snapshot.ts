/** Objects in their order, to be read one after the other. */
export interface Items<T> extends Iterable<T> {
  readonly length: number;
}

/** What a snapshot has of its moment, apart from the keys. */
interface SnapshotOptions<T> {
  /** Those of the objects that do not rest and that `add` was not given. Must not change. */
  readonly awake?: ReadonlyMap<string, T> | undefined;
  /** Makes an object that rests. */
  make(key: string, revision: number): T;
}

/**
 * Objects at one moment. Taking a snapshot of very many takes milliseconds, because an object that rests is only made when it is read,
 * and anew each time.
 */
export class Snapshot<T extends object | string> implements Items<T> {
  readonly #keys: string[] = [];
  /** The revision of an object that rests, or that is in `awake`. */
  readonly #found: (T | number)[] = [];
  readonly #options: SnapshotOptions<T>;

  constructor(options: SnapshotOptions<T>) {
    this.#options = options;
  }

  get length(): number {
    return this.#keys.length;
  }

  add(key: string, found: T | number): void {
    this.#keys.push(key);
    this.#found.push(found);
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let index = 0; index < this.#keys.length; index++) yield this.#at(index);
  }

  #at(index: number): T {
    const [key, found] = [this.#keys[index] as string, this.#found[index] as T | number]; // below their length
    if (typeof found !== "number") return found;
    return this.#options.awake?.get(key) ?? this.#options.make(key, found);
  }
}
