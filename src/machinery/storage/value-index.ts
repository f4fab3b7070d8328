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

interface ValueIndexOptions<T> {
  readonly objects: Iterable<T>;
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
  /** While the index is being filled: keys whose objects of the initial list were replaced since, and must not be added. */
  #replaced: Set<string> | undefined = new Set();
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
      this.#replaced?.add(this.#options.keyOf(previous));
      this.#remove(previous);
    }
    if (object !== undefined) this.#add(object);
  }

  async #fill(objects: Iterable<T>): Promise<void> {
    const work = new LongWork();
    for (const object of objects) {
      if (this.#isDropped) return;
      if (this.#replaced?.has(this.#options.keyOf(object)) !== true) this.#add(object);
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

/** Below this number, looking at every object is as fast. */
const fewestObjects = 1000;
const maximumIndexes = 4;
/** Fields that were looked up once. Twice makes an index worth its cost. */
const maximumRemembered = 16;

interface ValueIndexesOptions<T> {
  keyOf(object: T): string;
  size(): number;
  objects(): Iterable<T>;
}

/** The indexes of a cache: for the few fields that objects were last looked up by. */
export class ValueIndexes<T> {
  readonly #options: ValueIndexesOptions<T>;
  /** The one that was used last is the last. */
  readonly #indexes = new Map<string, ValueIndex<T>>();
  readonly #askedOnce = new Set<string>();

  constructor(options: ValueIndexesOptions<T>) {
    this.#options = options;
  }

  /** The keys of the objects that have a value, in no order. Undefined: no index knows. */
  find({ field, value }: Lookup<T>): readonly string[] | undefined {
    return this.#indexes.get(field)?.find(value);
  }

  /**
   * Makes an index if the field was asked for before. Resolves when it is filled: looking at all objects would take as long.
   * Undefined: there is nothing to wait for.
   */
  prepare({ field, valueOf }: Lookup<T>): Promise<void> | undefined {
    const index = this.#indexes.get(field) ?? this.#made(field, valueOf);
    if (index === undefined) return undefined;
    this.#indexes.delete(field);
    this.#indexes.set(field, index);
    return index.filled;
  }

  replace(previous: T | undefined, object: T | undefined): void {
    for (const index of this.#indexes.values()) index.replace(previous, object);
  }

  clear(): void {
    for (const index of this.#indexes.values()) index.drop();
    this.#indexes.clear();
  }

  #made(field: string, valueOf: Lookup<T>["valueOf"]): ValueIndex<T> | undefined {
    if (this.#options.size() < fewestObjects) return undefined;
    if (!this.#askedOnce.delete(field)) {
      this.#askedOnce.add(field);
      dropOldest(this.#askedOnce, maximumRemembered);
      return undefined;
    }
    if (this.#indexes.size >= maximumIndexes) {
      const [oldest] = this.#indexes;
      if (oldest !== undefined) {
        oldest[1].drop();
        this.#indexes.delete(oldest[0]);
      }
    }
    return new ValueIndex({ objects: this.#options.objects(), keyOf: this.#options.keyOf, valueOf });
  }
}

function dropOldest(fields: Set<string>, maximum: number): void {
  const [oldest] = fields;
  if (oldest !== undefined && fields.size > maximum) fields.delete(oldest);
}
