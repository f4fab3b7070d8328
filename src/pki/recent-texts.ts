/** The longest text of which several are remembered. Of longer ones only the last is: the memory has a bound in bytes too. */
const longestText = 8192;

/** What was read of the last texts. The steps of a certificate read the same text one after the other. */
export class RecentTexts<T extends object> {
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

  /** Returns what was read. */
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
