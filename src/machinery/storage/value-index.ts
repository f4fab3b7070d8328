import { LongWork } from "../api/long-work.ts";

/** A value that objects can be looked up by. */
export interface Lookup<T> {
  /** Names `valueOf`. */
  readonly field: string;
  readonly value: string;
  /** Undefined: the object has none. */
  valueOf(object: T): string | undefined;
}

/** The keys of one value. Most values of some fields have one key. */
type Keys = string | Set<string>;

/** Instead of a value: the object cannot be read, so it may have any. */
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

export interface ValueIndexOptions<T> {
  readonly objects: readonly T[];
  keyOf(object: T): string;
  valueOf(object: T): string | undefined;
}

/**
 * The keys of objects by the value of one of their fields. It is filled in many short turns of the event loop; changes in
 * between are applied at once.
 */
export class ValueIndex<T> {
  readonly #filling: Promise<void>;
  readonly #options: Pick<ValueIndexOptions<T>, "keyOf" | "valueOf">;
  readonly #keys = new Map<string | typeof unreadable, Keys>();
  /** While the index is being filled: objects of the initial list that were replaced since, and must not be added. */
  #replaced: Set<T> | undefined = new Set();
  #isDropped = false;

  constructor({ objects, keyOf, valueOf }: ValueIndexOptions<T>) {
    this.#options = { keyOf, valueOf };
    this.#filling = this.#fill(objects);
  }

  /** Resolves when `find` knows. Undefined: it does. */
  get filled(): Promise<void> | undefined {
    return this.#replaced === undefined ? undefined : this.#filling;
  }

  /** The keys that have a value, and of objects that cannot be read, in no order. Undefined: the index is not filled yet. */
  find(value: string): readonly string[] | undefined {
    if (this.#replaced !== undefined) return undefined;
    return [...listed(this.#keys.get(value)), ...listed(this.#keys.get(unreadable))];
  }

  /** Stops the filling. Do not use the index afterwards. */
  drop(): void {
    this.#isDropped = true;
  }

  /** Applies a change of one key. */
  replace(previous: T | undefined, object: T | undefined): void {
    if (previous !== undefined) {
      this.#replaced?.add(previous);
      this.#remove(previous);
    }
    if (object !== undefined) this.#add(object);
  }

  async #fill(objects: readonly T[]): Promise<void> {
    const work = new LongWork();
    for (const object of objects) {
      if (this.#isDropped) return;
      if (this.#replaced?.has(object) !== true) this.#add(object);
      const pause = work.pause();
      if (pause !== undefined) await pause;
    }
    this.#replaced = undefined;
  }

  #add(object: T): void {
    const value = readValue(this.#options, object);
    if (value === undefined) return;
    const key = this.#options.keyOf(object);
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, key);
    else if (typeof keys === "string") this.#keys.set(value, new Set([keys, key]));
    else keys.add(key);
  }

  #remove(object: T): void {
    const value = readValue(this.#options, object);
    if (value === undefined) return;
    const key = this.#options.keyOf(object);
    const keys = this.#keys.get(value);
    if (keys === key) this.#keys.delete(value);
    if (typeof keys !== "object") return;
    keys.delete(key);
    if (keys.size === 0) this.#keys.delete(value);
  }
}

const listed = (keys: Keys | undefined): Iterable<string> =>
  keys === undefined ? [] : typeof keys === "string" ? [keys] : keys;
