import { Snapshot } from "./snapshot.ts";
import { SortedMap, byteOrdered } from "./sorted-map.ts";
import type { SortedPart, SortedRange } from "./sorted-map.ts";

/** What a cache holds. */
export type Cached = object | string;

/** How an object rests: only its key and its revision are kept, and it is made anew when it is needed. */
export interface Resting<T extends Cached> {
  /** The first byte of the stored values of objects that may rest from the load on. */
  readonly firstByte: number;
  /** The object with its text, which from now on is the only one of its version. */
  wake(key: string, revision: number): T;
  /** The object, without reading its text, for a reader that looks at many. Another look makes another one. */
  glimpse(key: string, revision: number): T;
  revisionOf(object: T): number;
  /** Whether nothing of it is in memory that could not be read again. */
  isForgotten(object: T): boolean;
}

/** The objects of a cache, in UTF-8 byte order of their keys. Most of them may rest. */
export class SortedObjects<T extends Cached> {
  readonly #resting: Resting<T> | undefined;
  readonly #awake = new Map<string, T>();
  /** All of them. An object that may rest, or does, is its revision here: so it falls asleep and wakes without a search. */
  readonly #sorted = new SortedMap<T | number>();

  constructor(resting?: Resting<T>) {
    this.#resting = resting;
  }

  get size(): number {
    return this.#sorted.size;
  }

  get(key: string): T | undefined {
    const awake = this.#awake.get(key);
    if (awake !== undefined || this.#resting === undefined) return awake;
    const revision = this.#sorted.get(key);
    if (typeof revision !== "number") return undefined;
    const object = this.#resting.wake(key, revision);
    this.#awake.set(key, object);
    return object;
  }

  /** As `get`, for a reader that looks at many: an object that rests goes on resting. */
  glimpse(key: string): T | undefined {
    const awake = this.#awake.get(key);
    if (awake !== undefined || this.#resting === undefined) return awake;
    const revision = this.#sorted.get(key);
    return typeof revision === "number" ? this.#resting.glimpse(key, revision) : undefined;
  }

  /** What stands for an object that is there in a map that `snapshot` takes. */
  entryOf(key: string): T | number {
    const entry = this.#sorted.get(key);
    if (entry === undefined) throw new Error(`nothing has the key ${key}`);
    return entry;
  }

  set(key: string, object: T): void {
    this.#awake.set(key, object);
    this.#sorted.set(key, this.#resting !== undefined && mayRest(key) ? this.#resting.revisionOf(object) : object);
  }

  /** Adds an object that rests. */
  setResting(key: string, revision: number): void {
    if (this.#resting === undefined) throw new TypeError("these objects cannot rest");
    if (mayRest(key)) this.#sorted.set(key, revision);
    else this.set(key, this.#resting.glimpse(key, revision));
  }

  /** Lets an object rest, if it is still the one of its key. */
  rest(key: string, object: T): void {
    if (this.#resting !== undefined && this.#awake.get(key) === object && mayRest(key)) this.#awake.delete(key);
  }

  delete(key: string): boolean {
    this.#awake.delete(key);
    return this.#sorted.delete(key);
  }

  range(request: SortedRange): T[] {
    return [...this.snapshot(request)];
  }

  /** As `range`, for a reader that takes several turns of the event loop. `sorted`: only these objects. */
  snapshot(request: SortedRange, sorted: SortedMap<T | number> = this.#sorted): Snapshot<T> {
    const length = request.limit || sorted.count(request);
    // A look at each key takes longer than a copy of the map: the strings are in no cache of the processor.
    const awake = length > this.#awake.size ? new Map(this.#awake) : undefined;
    const parts = awake === undefined ? [this.#copyOf(request, sorted)] : sorted.share(request);
    return new Snapshot(
      parts,
      (key, revision) => awake?.get(key) ?? (this.#resting as Resting<T>).glimpse(key, revision), // something rests
    );
  }

  /** A range in which only what rests is its revision. */
  #copyOf(request: SortedRange, sorted: SortedMap<T | number>): SortedPart<T | number> {
    const keys: string[] = [];
    const values: (T | number)[] = [];
    sorted.forEach(request, (key, found) => {
      keys.push(key);
      values.push(typeof found === "number" ? (this.#awake.get(key) ?? found) : found);
    });
    return { keys, values, from: 0, to: keys.length };
  }

  count(range: SortedRange): number {
    return this.#sorted.count(range);
  }
}

/** Of another key, the map has only its byte-ordered form, by which nothing can be read again. */
const mayRest = (key: string): boolean => byteOrdered(key) === key;
