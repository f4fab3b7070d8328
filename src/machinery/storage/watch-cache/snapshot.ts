import type { SizedIterable } from "../../api/sized-iterable.ts";
import type { SortedPart } from "../sorted-map.ts";

/**
 * The objects of a range at one moment. It shares the arrays of the sorted map, and makes an evicted object only when it is read, anew
 * each time. So a snapshot of a million objects takes a millisecond.
 */
export class Snapshot<T extends object> implements SizedIterable<T> {
  readonly length: number;
  readonly #parts: readonly SortedPart<T | number>[];
  readonly #objectOf: (key: string, revision: number) => T;

  /** `objectOf` makes an object from its key and revision, when the part has only its revision. */
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
