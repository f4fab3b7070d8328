import { Snapshot } from "./snapshot.ts";
import { SortedMap } from "./sorted-map.ts";
import type { SortedPart, SortedRange } from "./sorted-map.ts";
import { byteOrdered } from "./byte-ordered.ts";

/** What a cache holds. */
export type Cached = object | string;

/** How objects are evicted: only the key and the revision of one stay in memory, and it is loaded again when it is needed. */
export interface Eviction<T extends Cached> {
  /** The first byte of the stored values of objects that are evicted from the start. */
  readonly firstByte: number;
  /** The object with its text, which from now on is the only one of its version. */
  load(key: string, revision: number): T;
  /** The object, without reading its text, for a reader that looks at many. Each call makes a new one. */
  peek(key: string, revision: number): T;
  revisionOf(object: T): number;
  /** Whether its text is not in memory, and can be read again. */
  isTextEvicted(object: T): boolean;
}

/** The objects of a cache, in UTF-8 byte order of their keys. Most of them may be evicted. */
export class SortedObjects<T extends Cached> {
  readonly #eviction: Eviction<T> | undefined;
  readonly #loaded = new Map<string, T>();
  /** All of them. An object that is evicted, or may be, is its revision here: so it is evicted and loaded without a search. */
  readonly #sorted = new SortedMap<T | number>();

  constructor(eviction?: Eviction<T>) {
    this.#eviction = eviction;
  }

  get size(): number {
    return this.#sorted.size;
  }

  get(key: string): T | undefined {
    const loaded = this.#loaded.get(key);
    if (loaded !== undefined || this.#eviction === undefined) return loaded;
    const revision = this.#sorted.get(key);
    if (typeof revision !== "number") return undefined;
    const object = this.#eviction.load(key, revision);
    this.#loaded.set(key, object);
    return object;
  }

  /** Does the same as `get`, for a reader that looks at many: an evicted object stays evicted. */
  peek(key: string): T | undefined {
    const loaded = this.#loaded.get(key);
    if (loaded !== undefined || this.#eviction === undefined) return loaded;
    const revision = this.#sorted.get(key);
    return typeof revision === "number" ? this.#eviction.peek(key, revision) : undefined;
  }

  /** What stands for an object that is there in a map that `snapshot` takes. */
  entryOf(key: string): T | number {
    const entry = this.#sorted.get(key);
    if (entry === undefined) throw new Error(`nothing has the key ${key}`);
    return entry;
  }

  set(key: string, object: T): void {
    this.#loaded.set(key, object);
    this.#sorted.set(
      key,
      this.#eviction !== undefined && isEvictable(key) ? this.#eviction.revisionOf(object) : object,
    );
  }

  /** Adds an evicted object. */
  setEvicted(key: string, revision: number): void {
    if (this.#eviction === undefined) throw new TypeError("these objects cannot be evicted");
    if (isEvictable(key)) this.#sorted.set(key, revision);
    else this.set(key, this.#eviction.load(key, revision)); // it stays, so what is counted of it must be known
  }

  /** Evicts an object, if it is still the one of its key. */
  evict(key: string, object: T): void {
    if (this.#eviction !== undefined && this.#loaded.get(key) === object && isEvictable(key)) this.#loaded.delete(key);
  }

  delete(key: string): boolean {
    this.#loaded.delete(key);
    return this.#sorted.delete(key);
  }

  range(request: SortedRange): T[] {
    return [...this.snapshot(request)];
  }

  /** Does the same as `range`, for a reader that takes several turns of the event loop. `sorted`: only these objects. */
  snapshot(request: SortedRange, sorted: SortedMap<T | number> = this.#sorted): Snapshot<T> {
    const length = request.limit || sorted.count(request);
    // A look at each key takes longer than a copy of the map: the strings are in no cache of the processor.
    const loaded = length > this.#loaded.size ? new Map(this.#loaded) : undefined;
    const parts = loaded === undefined ? [this.#copyOf(request, sorted)] : sorted.share(request);
    return new Snapshot(
      parts,
      (key, revision) => loaded?.get(key) ?? (this.#eviction as Eviction<T>).peek(key, revision), // something is evicted
    );
  }

  /** A range in which only evicted objects are their revisions. */
  #copyOf(request: SortedRange, sorted: SortedMap<T | number>): SortedPart<T | number> {
    const keys: string[] = [];
    const values: (T | number)[] = [];
    sorted.forEach(request, (key, found) => {
      keys.push(key);
      values.push(typeof found === "number" ? (this.#loaded.get(key) ?? found) : found);
    });
    return { keys, values, from: 0, to: keys.length };
  }

  count(range: SortedRange): number {
    return this.#sorted.count(range);
  }
}

/** Whether a key may be evicted. The map has only the byte-ordered form of keys, and reading an object again needs its key. */
const isEvictable = (key: string): boolean => byteOrdered(key) === key;
