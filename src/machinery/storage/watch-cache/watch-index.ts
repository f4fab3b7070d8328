import { readValue, unreadable } from "./value-index.ts";
import type { Lookup } from "./value-index.ts";
import { byteOrdered } from "../byte-ordered.ts";
import { keyAfter, prefixEnd } from "../key-range.ts";
import type { KeyRange } from "../key-range.ts";

/** The objects that a watch asks for. It gets no events of other objects. */
export interface WatchScope<T> extends KeyRange {
  /** A value that the object must have, now or before the event. Absent: any object. */
  readonly where?: Lookup<T> | undefined;
}

export interface IndexedChange<T> {
  readonly key: string;
  /** Undefined after a deletion. */
  readonly object: T | undefined;
  /** Undefined for a new object. */
  readonly previous: T | undefined;
}

/** Watches of the same keys. */
interface Group<T, W> {
  readonly ofAnyValue: Set<W>;
  readonly byField: Map<string, ValueWatches<T, W>>;
}

/** Watches that require a value of the same field. */
interface ValueWatches<T, W> {
  /** The lookup of one of the watches. All of them have the same `valueOf`. */
  readonly where: Lookup<T>;
  readonly byValue: Map<string, Set<W>>;
}

/**
 * Finds the watches that a change concerns without looking at all others, because thousands of clients watch one object or one
 * namespace each. Watches of one key, of a prefix that ends with "/" and of a required value are looked up; watches of any
 * other range are compared one by one.
 */
export class WatchIndex<T, W extends WatchScope<T>> {
  readonly #all = new Set<W>();
  readonly #ofOneKey = new Map<string, Group<T, W>>();
  readonly #ofPrefix = new Map<string, Group<T, W>>();
  readonly #ofOtherRanges = new Set<W>();

  get size(): number {
    return this.#all.size;
  }

  has(watch: W): boolean {
    return this.#all.has(watch);
  }

  [Symbol.iterator](): IterableIterator<W> {
    return this.#all.values();
  }

  add(watch: W): void {
    this.#all.add(watch);
    const place = this.#placeOf(watch);
    if (place === undefined) this.#ofOtherRanges.add(watch);
    else setOf(entryOf(place, { key: watch.start, make: newGroup<T, W> }), watch).add(watch);
  }

  /** Removes a watch. Returns whether it was in the index. */
  delete(watch: W): boolean {
    if (!this.#all.delete(watch)) return false;
    const place = this.#placeOf(watch);
    const group = place?.get(watch.start);
    if (place === undefined || group === undefined) return this.#ofOtherRanges.delete(watch);
    const { where } = watch;
    if (where === undefined) group.ofAnyValue.delete(watch);
    else deleteValue(group, { where, watch });
    if (group.ofAnyValue.size === 0 && group.byField.size === 0) place.delete(watch.start);
    return true;
  }

  /**
   * Calls `visit` with each watch that the change concerns, and with the change. `visit` may add and delete watches. Pass the same function
   * for every change: V8 would lose the machine code of a function that is made for one change.
   */
  visit<C extends IndexedChange<T>>(change: C, visit: (watch: W, change: C) => void): void {
    const { key } = change;
    const visited = { change, visit };
    if (this.#ofOneKey.size > 0) visitGroup(this.#ofOneKey.get(key), visited);
    if (this.#ofPrefix.size > 0) {
      for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) {
        visitGroup(this.#ofPrefix.get(key.slice(0, at + 1)), visited);
      }
    }
    if (this.#ofOtherRanges.size === 0) return;
    const ordered = byteOrdered(key);
    for (const watch of this.#ofOtherRanges) {
      const isInRange = byteOrdered(watch.start) <= ordered && ordered < byteOrdered(watch.end);
      if (isInRange && hasValue(change, watch.where)) visit(watch, change);
    }
  }

  #placeOf({ start, end }: W): Map<string, Group<T, W>> | undefined {
    if (end === keyAfter(start)) return this.#ofOneKey;
    return start.endsWith("/") && end === prefixEnd(start) ? this.#ofPrefix : undefined;
  }
}

interface Visited<W, C> {
  readonly change: C;
  readonly visit: (watch: W, change: C) => void;
}

function visitGroup<T, W, C extends IndexedChange<T>>(group: Group<T, W> | undefined, visited: Visited<W, C>): void {
  if (group === undefined) return;
  visitAll(group.ofAnyValue, visited);
  const { object, previous } = visited.change;
  for (const { where, byValue } of group.byField.values()) {
    const now = object && readValue(where, object);
    const before = previous && readValue(where, previous);
    // Then visit all: the watches find out why the object cannot be read when they read it.
    if (now === unreadable || before === unreadable) for (const watches of byValue.values()) visitAll(watches, visited);
    else {
      if (now !== undefined) visitAll(byValue.get(now), visited);
      if (before !== undefined && before !== now) visitAll(byValue.get(before), visited);
    }
  }
}

function visitAll<W, C>(watches: ReadonlySet<W> | undefined, { change, visit }: Visited<W, C>): void {
  if (watches !== undefined) for (const watch of watches) visit(watch, change);
}

function hasValue<T>({ object, previous }: IndexedChange<T>, where: Lookup<T> | undefined): boolean {
  if (where === undefined) return true;
  const values = [object, previous].map((one) => one && readValue(where, one));
  return values.some((value) => value === where.value || value === unreadable);
}

const newGroup = <T, W>(): Group<T, W> => ({ ofAnyValue: new Set(), byField: new Map() });

function setOf<T, W extends WatchScope<T>>({ ofAnyValue, byField }: Group<T, W>, { where }: W): Set<W> {
  if (where === undefined) return ofAnyValue;
  const { byValue } = entryOf(byField, {
    key: where.field,
    make: () => ({ where, byValue: new Map<string, Set<W>>() }),
  });
  return entryOf(byValue, { key: where.value, make: () => new Set<W>() });
}

function deleteValue<T, W>(
  { byField }: Group<T, W>,
  { where: { field, value }, watch }: { readonly where: Lookup<T>; readonly watch: W },
): void {
  const byValue = byField.get(field)?.byValue;
  const watches = byValue?.get(value);
  watches?.delete(watch);
  if (watches?.size === 0) byValue?.delete(value);
  if (byValue?.size === 0) byField.delete(field);
}

function entryOf<K, V>(map: Map<K, V>, { key, make }: { readonly key: K; readonly make: () => V }): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
