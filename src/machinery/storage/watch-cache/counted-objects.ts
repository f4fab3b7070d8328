import { LongWork } from "../../scheduling/long-work.ts";
import { GroupSizes } from "./group-sizes.ts";
import { inKeyRange, keyAfter } from "../key-range.ts";
import type { KeyRange } from "../key-range.ts";
import type { Cached, SortedObjects } from "./sorted-objects.ts";
import type { IndexedChange } from "./watch-index.ts";

export interface CountedSizes<T extends Cached> {
  /** The group of an object, which must be the same for all its versions. Not called when `storedBytesOf` is 0. */
  groupOf(object: T): string;
  /** The group of the object with a key. Undefined: only the object tells its group, so all objects are read in turns after the load. */
  readonly groupOfKey?: ((key: string) => string) | undefined;
  /** The length of the stored value of an object. 0: the object can't be read. */
  storedBytesOf(object: T): number;
}

export interface CountedObjectsOptions<T extends Cached> extends CountedSizes<T> {
  /** The keys of all objects. */
  readonly range: KeyRange;
}

/** How many objects are counted before the next possible pause. */
const objectsAtOnce = 16;

/** Sums the lengths of the stored values of a cache's objects by group, from one load to the next. */
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

  /** Call it when all objects are loaded. If their keys do not tell their groups, counts the objects now, in turns. */
  async countLoaded(objects: Pick<SortedObjects<T>, "range">): Promise<void> {
    const { groupOf, storedBytesOf } = this.#options;
    const work = new LongWork();
    while (this.#uncounted !== undefined) {
      const { start, end } = this.#uncounted;
      const next = objects.range({ start, end, limit: objectsAtOnce });
      for (const object of next) {
        const bytes = storedBytesOf(object);
        if (bytes > 0) this.sizes.add(groupOf(object), bytes);
      }
      const last = next.at(-1);
      this.#uncounted = last && { start: keyAfter(last.key), end };
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
