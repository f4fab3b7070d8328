import { RecentlyUsed } from "../../api/recently-used.ts";
import { LongWork } from "../../scheduling/long-work.ts";
import { SortedMap } from "../sorted-map.ts";
import type { Cached } from "./sorted-objects.ts";

/** A value that objects can be looked up by. */
export interface Lookup<T> {
  /** The name of the field that `valueOf` reads. */
  readonly field: string;
  readonly value: string;
  /** Undefined: the object has no value in the field. */
  valueOf(object: T): string | undefined;
}

/** The objects that have a value: the keys of few objects, or the entries of many. Read them in this turn of the event loop. */
export type Found<E> = readonly string[] | SortedMap<E>;

/** Most values of some fields have one key. */
type Entries<E> = string | SortedMap<E>;

/** Stands for the value of an object that cannot be read, which may have any value. */
export const unreadable = Symbol("unreadable");

export function readValue<T>(
  { valueOf }: Pick<Lookup<T>, "valueOf">,
  object: T,
): string | typeof unreadable | undefined {
  try {
    return valueOf(object);
  } catch {
    return unreadable;
  }
}

interface ValueIndexOptions<T, E> {
  readonly objects: Iterable<T>;
  /** Returns what the index keeps for the object that now has the key. */
  entryOf(key: string): E;
  valueOf(object: T): string | undefined;
}

/**
 * Objects by the value of one of their fields, in the order of their keys. It is filled in many short turns of the event loop;
 * changes in between are applied at once.
 */
export class ValueIndex<T extends Cached, E> {
  readonly #filling: Promise<void>;
  readonly #options: Pick<ValueIndexOptions<T, E>, "entryOf" | "valueOf">;
  readonly #entries = new Map<string, Entries<E>>();
  /** The keys of objects that cannot be read, and so may have any value. */
  readonly #unreadable = new Set<string>();
  /** Whether the index is useless: an object became unreadable, so that the value of its entry, which must be removed, is not known. */
  isOutdated = false;
  /** While the index is filled: the keys whose objects were replaced since, so that their old objects must not be added. Then undefined. */
  #replaced: Set<string> | undefined = new Set();
  #isDropped = false;

  constructor({ objects, ...options }: ValueIndexOptions<T, E>) {
    this.#options = options;
    this.#filling = this.#fill(objects);
  }

  /** Resolves when the index is filled. Undefined: it is already. */
  get filled(): Promise<void> | undefined {
    return this.#replaced === undefined ? undefined : this.#filling;
  }

  /** Finds the objects with a value. Undefined: the index is not filled yet, or some objects cannot be read. */
  find(value: string): Found<E> | undefined {
    if (this.#replaced !== undefined || this.#unreadable.size > 0 || this.isOutdated) return undefined;
    const entries = this.#entries.get(value) ?? [];
    return typeof entries === "string" ? [entries] : entries;
  }

  /** Stops the filling. Do not use the index afterwards. */
  drop(): void {
    this.#isDropped = true;
  }

  /** Applies a change of one key. */
  replace(previous: T | undefined, object: T | undefined): void {
    if (previous !== undefined) {
      this.#replaced?.add(previous.key);
      this.#remove(previous);
    }
    if (object !== undefined) this.#add(object);
  }

  async #fill(objects: Iterable<T>): Promise<void> {
    const work = new LongWork();
    for (const object of objects) {
      if (this.#isDropped) return;
      if (this.#replaced?.has(object.key) !== true) this.#add(object);
      const pause = work.pause();
      if (pause !== undefined) await pause;
    }
    this.#replaced = undefined;
  }

  #add(object: T): void {
    const value = readValue(this.#options, object);
    if (value === undefined) return;
    const { key } = object;
    if (value === unreadable) {
      this.#unreadable.add(key);
      return;
    }
    const entries = this.#entries.get(value);
    if (entries === undefined) this.#entries.set(value, key);
    else if (typeof entries === "string") this.#entries.set(value, this.#sorted(entries, key));
    else entries.set(key, this.#options.entryOf(key));
  }

  #sorted(...keys: readonly string[]): SortedMap<E> {
    const sorted = new SortedMap<E>();
    for (const key of keys) sorted.set(key, this.#options.entryOf(key));
    return sorted;
  }

  #remove(object: T): void {
    const { key } = object;
    if (this.#unreadable.delete(key)) return;
    const value = readValue(this.#options, object);
    if (value === undefined) return;
    if (value === unreadable) {
      this.isOutdated = true;
      return;
    }
    const entries = this.#entries.get(value);
    if (entries === key) this.#entries.delete(value);
    if (typeof entries !== "object") return;
    entries.delete(key);
    if (entries.size === 0) this.#entries.delete(value);
  }
}

/** Below this number, looking at every object is as fast. */
const fewestObjects = 1000;
const maximumIndexes = 4;
/** How many fields that were looked up once are remembered. An index is made at the second look-up. */
const maximumRemembered = 16;

interface ValueIndexesOptions<T, E> extends Pick<ValueIndexOptions<T, E>, "entryOf"> {
  size(): number;
  objects(): Iterable<T>;
}

/** The indexes of a cache, for the few fields by which objects were last looked up. */
export class ValueIndexes<T extends Cached, E> {
  readonly #options: ValueIndexesOptions<T, E>;
  #indexes = newIndexes<T, E>();
  readonly #askedOnce = new RecentlyUsed<string>({ maximumEntries: maximumRemembered });

  constructor(options: ValueIndexesOptions<T, E>) {
    this.#options = options;
  }

  /** Finds the objects with a value. Undefined: no index can tell. */
  find({ field, value }: Lookup<T>): Found<E> | undefined {
    return this.#indexes.get(field)?.find(value);
  }

  /**
   * Makes an index if the field was asked for before. Resolves when the index is filled: reading all objects instead would take as
   * long. Undefined: there is nothing to wait for.
   */
  prepare({ field, valueOf }: Lookup<T>): Promise<void> | undefined {
    const known = this.#indexes.get(field);
    if (known?.isOutdated === false) return known.filled;
    this.#indexes.delete(field);
    const index = this.#made(field, valueOf);
    if (index === undefined) return undefined;
    this.#indexes.set(field, index);
    return index.filled;
  }

  replace(previous: T | undefined, object: T | undefined): void {
    for (const index of this.#indexes.values()) index.replace(previous, object);
  }

  clear(): void {
    for (const index of this.#indexes.values()) index.drop();
    this.#indexes = newIndexes();
  }

  #made(field: string, valueOf: Lookup<T>["valueOf"]): ValueIndex<T, E> | undefined {
    if (this.#options.size() < fewestObjects) return undefined;
    if (this.#askedOnce.get(field) === undefined) {
      this.#askedOnce.set(field, field);
      return undefined;
    }
    this.#askedOnce.delete(field);
    return new ValueIndex({ objects: this.#options.objects(), entryOf: this.#options.entryOf, valueOf });
  }
}

const newIndexes = <T extends Cached, E>(): RecentlyUsed<ValueIndex<T, E>> =>
  new RecentlyUsed({ maximumEntries: maximumIndexes, onDropped: (index) => index.drop() });
