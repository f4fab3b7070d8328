import { getHeapStatistics } from "node:v8";
import type { ApiObject } from "../api/object-meta.ts";

/** There is no more room for the objects that a server sends. */
export class TooManyObjects extends Error {
  override readonly name = "TooManyObjects";

  constructor(bytes: number) {
    super(
      `the server's objects take more than ${Math.round(bytes / 2 ** 20)} MiB of memory; where it has so many, allow more ` +
        "with NODE_OPTIONS=--max-old-space-size",
    );
  }
}

/** What is left is for requests, and for what loops derive of the objects. */
const defaultBytes = (): number => getHeapStatistics().heap_size_limit / 2;

/** How much memory the informers of a process may fill: a broken or hostile server sends objects without end. */
export class ObjectBudget {
  readonly #bytes: number;
  #left: number;

  /** Default: half of the memory that Node.js has for objects. */
  constructor(bytes = defaultBytes()) {
    this.#bytes = bytes;
    this.#left = bytes;
  }

  /** Counts an object in place of another one. Throws TooManyObjects, and counts neither, when there is no room for it. */
  replace(previous: ApiObject | undefined, next: ApiObject | undefined): void {
    const left = this.#left + memoryOf(previous) - memoryOf(next);
    if (left < 0) throw new TooManyObjects(this.#bytes);
    this.#left = left;
  }
}

/** About as many bytes as V8 takes for a value of JSON whose names are all different, which V8 would else keep once. */
function memoryOf(value: unknown): number {
  if (typeof value === "string") return memoryOfText(value);
  if (typeof value !== "object" || value === null) return 16;
  if (Array.isArray(value)) return value.reduce<number>((bytes, item) => bytes + memoryOf(item), 48);
  let bytes = 96;
  for (const [name, item] of Object.entries(value)) bytes += 24 + memoryOfText(name) + memoryOf(item);
  return bytes;
}

/** V8 takes two bytes for each character of a text where one does not fit into a byte. */
const memoryOfText = (text: string): number => 24 + (/[\u0100-\uffff]/.test(text) ? 2 : 1) * text.length;
