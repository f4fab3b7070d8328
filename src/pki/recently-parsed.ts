/** Of texts up to this length, several are remembered. Of longer texts, only the last is, so that the memory is bounded in bytes too. */
const longestText = 8192;

/** The results of parsing the last texts. The steps that process a certificate parse the same text one after the other. */
export class RecentlyParsed<T extends object> {
  readonly #maximumTexts: number;
  readonly #known = new Map<string, T>();
  #lastLong: { readonly text: string; readonly read: T } | undefined;

  constructor(maximumTexts: number) {
    this.#maximumTexts = maximumTexts;
  }

  get(text: string): T | undefined {
    if (text.length <= longestText) return this.#known.get(text);
    return text === this.#lastLong?.text ? this.#lastLong.read : undefined;
  }

  /** Remembers the result of a text, and returns it. */
  add(text: string, read: T): T {
    if (text.length > longestText) {
      this.#lastLong = { text, read };
      return read;
    }
    if (this.#known.size >= this.#maximumTexts) {
      const [oldest = ""] = this.#known.keys();
      this.#known.delete(oldest);
    }
    this.#known.set(text, read);
    return read;
  }
}
