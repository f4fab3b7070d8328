import { Snapshot } from "./snapshot.ts";
import { SortedMap } from "../sorted-map.ts";
import type { SortedPart, SortedRange } from "../sorted-map.ts";
import { byteOrdered } from "../byte-ordered.ts";

/** What a cache needs of its objects. */
export interface Cached {
  /** The key in the store. */
  readonly key: string;
}

/** How objects are evicted: only an evicted object's key and revision stay in memory, and the object is loaded again when needed. */
export interface Eviction<T extends Cached> {
  /** The first byte of the stored values of objects that are evicted from the start. */
  readonly firstByte: number;
  /** Makes the object with its text. From now on, it is the only object of its version. */
  load(key: string, revision: number): T;
  /** Makes a new object without reading its text, for a reader of many objects. */
  peek(key: string, revision: number): T;
  revisionOf(object: T): number;
  /** Whether the object's text is not in memory, but can be read again. */
  isTextEvicted(object: T): boolean;
}

/** The objects of a cache, in UTF-8 byte order of their keys. Most of them may be evicted. */
export class SortedObjects<T extends Cached> {
  readonly #eviction: Eviction<T> | undefined;
  readonly #loaded = new Map<string, T>();
  /** All objects. An evictable object is its revision here, even while it is loaded, so that evictions and loads do not change this map. */
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

  /** As `get`, for a reader of many objects: an evicted object stays evicted. */
  peek(key: string): T | undefined {
    const loaded = this.#loaded.get(key);
    if (loaded !== undefined || this.#eviction === undefined) return loaded;
    const revision = this.#sorted.get(key);
    return typeof revision === "number" ? this.#eviction.peek(key, revision) : undefined;
  }

  /** Returns the entry of an existing key, for a map that is given to `snapshot`. Throws when the key does not exist. */
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
    else this.set(key, this.#eviction.load(key, revision)); // this object stays in memory, so its size must be known
  }

  /** Evicts an object, unless its key has another object by now. */
  evict(object: T): void {
    const { key } = object;
    if (this.#eviction !== undefined && this.#loaded.get(key) === object && isEvictable(key)) this.#loaded.delete(key);
  }

  delete(key: string): boolean {
    this.#loaded.delete(key);
    return this.#sorted.delete(key);
  }

  range(request: SortedRange): T[] {
    return [...this.snapshot(request)];
  }

  /** As `range`, for a reader that takes several turns of the event loop. `sorted`: only these objects. */
  snapshot(request: SortedRange, sorted: SortedMap<T | number> = this.#sorted): Snapshot<T> {
    const length = request.limit || sorted.count(request);
    // Looking up each key takes longer than copying the map, because the strings are not in the processor's caches.
    const loaded = length > this.#loaded.size ? new Map(this.#loaded) : undefined;
    const parts = loaded === undefined ? [this.#copyOf(request, sorted)] : sorted.share(request);
    return new Snapshot(
      parts,
      (key, revision) => loaded?.get(key) ?? (this.#eviction as Eviction<T>).peek(key, revision), // something is evicted
    );
  }

  /** Copies a range, with the loaded objects themselves, and the revisions of evicted objects. */
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

/** Whether the object of a key may be evicted. Reading it again needs the key, and the map has only the key's byte-ordered form. */
const isEvictable = (key: string): boolean => byteOrdered(key) === key;
