/** Longer texts are read each time: the memory has a bound in bytes too. */
const longestText = 8192;

/** What was read of the last texts. The steps of a certificate read the same text one after the other. */
export class RecentTexts<T extends object> {
  readonly #maximumTexts: number;
  readonly #known = new Map<string, T>();

  constructor(maximumTexts: number) {
    this.#maximumTexts = maximumTexts;
  }

  get(text: string): T | undefined {
    return this.#known.get(text);
  }

  /** Returns what was read. */
  add(text: string, read: T): T {
    if (text.length > longestText) return read;
    if (this.#known.size >= this.#maximumTexts) {
      const [oldest = ""] = this.#known.keys();
      this.#known.delete(oldest);
    }
    this.#known.set(text, read);
    return read;
  }
}
