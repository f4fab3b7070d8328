import { getHeapStatistics } from "node:v8";
import type { ApiObject } from "../api/object-meta.ts";

/** The objects of a server take more memory than the budget allows. */
export class TooManyObjects extends Error {
  override readonly name = "TooManyObjects";

  constructor(bytes: number) {
    super(
      `the server's objects take more than ${Math.round(bytes / 2 ** 20)} MiB of memory; where it has so many, allow more ` +
        "with NODE_OPTIONS=--max-old-space-size",
    );
  }
}

/** Half of the heap. The other half is for requests, and for what loops derive from the objects. */
const defaultBytes = (): number => getHeapStatistics().heap_size_limit / 2;

/** Limits the memory that the informers of a process may use, because a broken or hostile server may send objects without end. */
export class ObjectBudget {
  readonly #bytes: number;
  #left: number;

  /** Default: half of the largest heap that Node.js allows. */
  constructor(bytes = defaultBytes()) {
    this.#bytes = bytes;
    this.#left = bytes;
  }

  /** Counts `next` in place of `previous`. Throws TooManyObjects when there is no room for `next`: then `previous` stays counted. */
  replace(previous: ApiObject | undefined, next: ApiObject | undefined): void {
    const left = this.#left + memoryOf(previous) - memoryOf(next);
    if (left < 0) throw new TooManyObjects(this.#bytes);
    this.#left = left;
  }
}

/** About how many bytes V8 needs for a JSON value, if all its field names differ: V8 keeps equal names only once. */
function memoryOf(value: unknown): number {
  if (typeof value === "string") return memoryOfText(value);
  if (typeof value !== "object" || value === null) return 16;
  if (Array.isArray(value)) return value.reduce<number>((bytes, item) => bytes + memoryOf(item), 48);
  let bytes = 96;
  for (const [name, item] of Object.entries(value)) bytes += 24 + memoryOfText(name) + memoryOf(item);
  return bytes;
}

/** V8 stores each character of a text in two bytes when any character does not fit into one byte. */
const memoryOfText = (text: string): number => 24 + (/[\u0100-\uffff]/.test(text) ? 2 : 1) * text.length;
