import { ValueIndex } from "./value-index.ts";
import type { Lookup } from "./value-index.ts";

/** Below this number, looking at every object is as fast. */
const fewestObjects = 1000;
const maximumIndexes = 4;
/** Fields that were looked up once. Twice makes an index worth its cost. */
const maximumRemembered = 16;

export interface ValueIndexesOptions<T> {
  keyOf(object: T): string;
  size(): number;
  objects(): readonly T[];
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
