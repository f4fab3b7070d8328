import { byteOrdered } from "./byte-ordered.ts";
import type { KeyRange } from "./key-range.ts";

/** Short, because a search finds the chunks' first keys in the processor's caches, but hardly ever the keys inside of a chunk. */
const chunkLength = 128;

export interface SortedRange extends KeyRange {
  /** 0 or absent: all. */
  readonly limit?: number;
}

interface Chunk<V> {
  readonly keys: string[];
  readonly values: V[];
  /** Whether a snapshot has the arrays of the chunk, so that a change must copy them first. */
  isShared: boolean;
}

/** The keys of a chunk from one index up to another. */
interface ChunkPart<V> {
  readonly chunk: Chunk<V>;
  readonly from: number;
  readonly to: number;
}

/** Keys in their byte-ordered form with their values, from one index up to another. Immutable. */
export interface SortedPart<V> {
  readonly keys: readonly string[];
  readonly values: readonly V[];
  readonly from: number;
  readonly to: number;
}

/** A map with range reads in UTF-8 byte order of the keys. Stores chunks of sorted arrays, so inserts are cheap. */
export class SortedMap<V> {
  #size = 0;
  /** No chunk is empty. Keys are in their byte-ordered form. */
  readonly #chunks: Chunk<V>[] = [];
  /** The first key of each chunk. */
  readonly #firstKeys: string[] = [];

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const ordered = byteOrdered(key);
    const chunk = this.#chunks[this.#chunkIndexOf(ordered)];
    if (chunk === undefined) return undefined;
    const index = lowerBound(chunk.keys, ordered);
    return chunk.keys[index] === ordered ? chunk.values[index] : undefined;
  }

  set(key: string, value: V): void {
    const ordered = byteOrdered(key);
    if (this.#append(ordered, value)) return;
    const chunkIndex = Math.max(0, this.#chunkIndexOf(ordered));
    const found = this.#chunks[chunkIndex];
    if (found === undefined) return; // never: without a chunk, the key was appended
    const chunk = this.#changeable(found, chunkIndex);
    const index = lowerBound(chunk.keys, ordered);
    if (chunk.keys[index] === ordered) {
      chunk.values[index] = value;
      return;
    }
    this.#size += 1;
    chunk.keys.splice(index, 0, ordered);
    chunk.values.splice(index, 0, value);
    if (index === 0) this.#firstKeys[chunkIndex] = ordered;
    if (chunk.keys.length > chunkLength) this.#split(chunk, chunkIndex);
  }

  #split(chunk: Chunk<V>, chunkIndex: number): void {
    const splitAt = chunk.keys.length >> 1;
    const [keys, values] = [chunk.keys.splice(splitAt), chunk.values.splice(splitAt)];
    this.#chunks.splice(chunkIndex + 1, 0, { keys, values, isShared: false });
    this.#firstKeys.splice(chunkIndex + 1, 0, keys[0] ?? "");
  }

  /** Appends a key that is larger than all others. Keys often arrive in ascending order: then no search is needed, and chunks are full. */
  #append(ordered: string, value: V): boolean {
    const last = this.#chunks.at(-1);
    const lastKey = last?.keys.at(-1);
    if (last !== undefined && lastKey !== undefined && lastKey >= ordered) return false;
    this.#size += 1;
    if (last === undefined || last.keys.length >= chunkLength) {
      this.#chunks.push({ keys: [ordered], values: [value], isShared: false });
      this.#firstKeys.push(ordered);
    } else {
      const { keys, values } = this.#changeable(last, this.#chunks.length - 1);
      keys.push(ordered);
      values.push(value);
    }
    return true;
  }

  delete(key: string): boolean {
    const ordered = byteOrdered(key);
    const chunkIndex = this.#chunkIndexOf(ordered);
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) return false;
    const index = lowerBound(chunk.keys, ordered);
    if (chunk.keys[index] !== ordered) return false;
    const { keys, values } = this.#changeable(chunk, chunkIndex);
    this.#size -= 1;
    keys.splice(index, 1);
    values.splice(index, 1);
    const [firstKey] = keys;
    if (firstKey !== undefined) this.#firstKeys[chunkIndex] = firstKey;
    else {
      this.#chunks.splice(chunkIndex, 1);
      this.#firstKeys.splice(chunkIndex, 1);
    }
    return true;
  }

  /** The values of the keys in `[start, end)`. `limit` 0 or absent: all of them. */
  range(request: SortedRange): V[] {
    const values: V[] = [];
    this.forEach(request, (_ordered, value) => values.push(value));
    return values;
  }

  /** Calls `callback` for each entry of a range, with the key in its byte-ordered form. */
  forEach(request: SortedRange, callback: (ordered: string, value: V) => void): void {
    this.#visit(request, ({ chunk: { keys, values }, from, to }) => {
      // The index is below the lengths.
      for (let index = from; index < to; index++) callback(keys[index] as string, values[index] as V);
    });
  }

  count(request: SortedRange): number {
    let total = 0;
    this.#visit(request, ({ from, to }) => (total += to - from));
    return total;
  }

  /** Returns a range as it is now, without copying its chunks. Later changes copy the chunks that they change. */
  share(request: SortedRange): SortedPart<V>[] {
    const parts: SortedPart<V>[] = [];
    this.#visit(request, ({ chunk, from, to }) => {
      chunk.isShared = true;
      parts.push({ keys: chunk.keys, values: chunk.values, from, to });
    });
    return parts;
  }

  #changeable(chunk: Chunk<V>, chunkIndex: number): Chunk<V> {
    if (!chunk.isShared) return chunk;
    const copy = { keys: [...chunk.keys], values: [...chunk.values], isShared: false };
    this.#chunks[chunkIndex] = copy;
    return copy;
  }

  #visit({ start, end, limit }: SortedRange, visit: (visited: ChunkPart<V>) => void): void {
    const first = byteOrdered(start);
    const last = byteOrdered(end);
    const firstChunk = Math.max(0, this.#chunkIndexOf(first));
    let left = limit === undefined || limit === 0 ? Infinity : limit;
    for (let chunkIndex = firstChunk; left > 0; chunkIndex++) {
      const chunk = this.#chunks[chunkIndex];
      if (chunk === undefined || (this.#firstKeys[chunkIndex] ?? "") >= last) return;
      const from = chunkIndex === firstChunk ? lowerBound(chunk.keys, first) : 0;
      const next = this.#firstKeys[chunkIndex + 1];
      const ends = next !== undefined && next <= last ? chunk.keys.length : lowerBound(chunk.keys, last);
      const to = Math.min(ends, from + left);
      if (from >= to) continue;
      visit({ chunk, from, to });
      left -= to - from;
    }
  }

  /** The last chunk that starts at or before the key; -1 when there is none. */
  #chunkIndexOf(ordered: string): number {
    const index = lowerBound(this.#firstKeys, ordered);
    return this.#firstKeys[index] === ordered ? index : index - 1;
  }
}

/** The first index whose key is not smaller than the given one. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
