import type { SizedIterable } from "../api/sized-iterable.ts";
import type { SortedPart } from "./sorted-map.ts";

/**
 * Objects at one moment. It shares the arrays of the sorted map, and an object that rests is only made when it is read, anew each
 * time. So taking a snapshot of a million takes a millisecond.
 */
export class Snapshot<T extends object | string> implements SizedIterable<T> {
  readonly length: number;
  readonly #parts: readonly SortedPart<T | number>[];
  readonly #objectOf: (key: string, revision: number) => T;

  /** `objectOf` makes the object of a part's key that has only its revision there. */
  constructor(parts: readonly SortedPart<T | number>[], objectOf: (key: string, revision: number) => T) {
    this.length = parts.reduce((sum, { from, to }) => sum + to - from, 0);
    this.#parts = parts;
    this.#objectOf = objectOf;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const { keys, values, from, to } of this.#parts) {
      for (let index = from; index < to; index++) {
        const [key, found] = [keys[index] as string, values[index] as T | number]; // below their length
        yield typeof found === "number" ? this.#objectOf(key, found) : found;
      }
    }
  }
}
