/** Longer texts are read each time: the memory has a bound in bytes too. */
const longestText = 8192;
const maximumTexts = 256;

/** What was read of the last 256 texts. The steps of a certificate read the same text one after the other. */
export class RecentTexts<T extends object> {
  readonly #known = new Map<string, T>();

  get(text: string): T | undefined {
    return this.#known.get(text);
  }

  /** Returns what was read. */
  add(text: string, read: T): T {
    if (text.length > longestText) return read;
    if (this.#known.size >= maximumTexts) {
      const [oldest = ""] = this.#known.keys();
      this.#known.delete(oldest);
    }
    this.#known.set(text, read);
    return read;
  }
}
