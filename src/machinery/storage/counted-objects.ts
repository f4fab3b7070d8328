import { LongWork } from "../scheduling/long-work.ts";
import { GroupSizes } from "./group-sizes.ts";
import { inKeyRange, keyAfter } from "./key-range.ts";
import type { KeyRange } from "./key-range.ts";
import type { Cached, SortedObjects } from "./sorted-objects.ts";
import type { IndexedChange } from "./watch-index.ts";

export interface CountedSizes<T extends Cached> {
  /** No version of an object is in another group. Not asked where `storedBytesOf` is 0. */
  groupOf(object: T): string;
  /** The same. Undefined: only an object tells, so they are read in turns after the load. */
  readonly groupOfKey?: ((key: string) => string) | undefined;
  /** The length of the value that an object was made of. 0: it can't be read. */
  storedBytesOf(object: T): number;
}

export interface CountedObjectsOptions<T extends Cached> extends CountedSizes<T> {
  /** The keys of all objects. */
  readonly range: KeyRange;
  keyOf(object: T): string;
}

/** How many objects are counted between two looks at the time. */
const objectsAtOnce = 16;

/** Adds up the stored values of a cache's objects by groups, from one load to the next. */
export class CountedObjects<T extends Cached> {
  readonly sizes = new GroupSizes();
  readonly #options: CountedObjectsOptions<T>;
  /** The keys whose objects are not counted yet. */
  #uncounted: KeyRange | undefined;

  constructor(options: CountedObjectsOptions<T>) {
    this.#options = options;
    if (options.groupOfKey === undefined) this.#uncounted = options.range;
  }

  /** Call it for each object of the load. */
  addLoaded(key: string, bytes: number): void {
    const { groupOfKey } = this.#options;
    if (groupOfKey !== undefined) this.sizes.add(groupOfKey(key), bytes);
  }

  /** Call it when all are loaded. Those whose keys do not tell their group are counted from now on, in turns. */
  async countLoaded(objects: Pick<SortedObjects<T>, "range">): Promise<void> {
    const { groupOf, storedBytesOf, keyOf } = this.#options;
    const work = new LongWork();
    while (this.#uncounted !== undefined) {
      const { start, end } = this.#uncounted;
      const next = objects.range({ start, end, limit: objectsAtOnce });
      for (const object of next) {
        const bytes = storedBytesOf(object);
        if (bytes > 0) this.sizes.add(groupOf(object), bytes);
      }
      const last = next.at(-1);
      this.#uncounted = last && { start: keyAfter(keyOf(last)), end };
      const pause = work.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** Ends `countLoaded`. */
  stop(): void {
    this.#uncounted = undefined;
  }

  replace({ key, object, previous }: IndexedChange<T>): void {
    this.sizes.settle(key);
    if (this.#uncounted !== undefined && inKeyRange(this.#uncounted)(key)) return;
    const bytes = this.storedBytesOf(object);
    const growth = bytes - this.storedBytesOf(previous);
    const known = bytes > 0 ? object : previous;
    if (growth !== 0 && known !== undefined) this.sizes.add(this.#options.groupOf(known), growth);
  }

  storedBytesOf(object: T | undefined): number {
    return object === undefined ? 0 : this.#options.storedBytesOf(object);
  }
}
