import type { WriteOfKey } from "../../storage/store.ts";

/** An object whose text can be read again. */
interface TextHolder {
  evictText(): void;
}

export interface StoredTextsOptions {
  /** See `valueAt` of Store. */
  valueAt(write: WriteOfKey): Buffer | undefined;
  /** How many characters of text are kept in memory. The default is enough for some tens of thousands of objects. */
  readonly maximumCharacters?: number;
}

/**
 * Keeps the texts of the objects that were last written or read, of all kinds together. Other objects read their texts from the
 * store each time: that takes a microsecond, and the store's file is in the system's page cache anyway.
 */
export class StoredTexts {
  readonly #options: StoredTextsOptions;
  readonly #maximumCharacters: number;
  #objects: (TextHolder | undefined)[] = [];
  #lengths: number[] = [];
  /** The index of the oldest object that still has its text. */
  #oldest = 0;
  #characters = 0;

  constructor(options: StoredTextsOptions) {
    this.#options = options;
    this.#maximumCharacters = options.maximumCharacters ?? 16 * 2 ** 20;
  }

  valueAt(write: WriteOfKey): Buffer | undefined {
    return this.#options.valueAt(write);
  }

  /** Keeps the text of an object, of so many characters, until newer texts need the room. */
  keep(object: TextHolder, characters: number): void {
    this.#objects.push(object);
    this.#lengths.push(characters);
    this.#characters += characters;
    while (this.#characters > this.#maximumCharacters) this.#evictOldest();
  }

  #evictOldest(): void {
    const oldest = this.#objects[this.#oldest];
    this.#objects[this.#oldest] = undefined;
    this.#characters -= this.#lengths[this.#oldest] ?? 0;
    this.#oldest += 1;
    oldest?.evictText();
    // Shorten the arrays when half of their entries are empty: then each object is moved once on average.
    if (this.#oldest * 2 < this.#objects.length) return;
    this.#objects = this.#objects.slice(this.#oldest);
    this.#lengths = this.#lengths.slice(this.#oldest);
    this.#oldest = 0;
  }
}

/** The texts of one kind's objects. */
export interface TextsOfKind extends Pick<StoredTexts, "valueAt" | "keep"> {
  /** Called when the text of an object was evicted. */
  onEvicted(object: object): void;
}
