const maximumEntries = 1_000;
/** The length of the first page, before any size is known. With entries of 1.5 MiB, etcd's default limit, it has 96 MiB. */
const firstEntries = 64;
const wantedBytes = 16 * 2 ** 20;

/** Computes how many entries of a range to ask for at once, so that an answer has at most about 16 MiB. */
export class PageLength {
  #entries = firstEntries;

  get entries(): number {
    return this.#entries;
  }

  /** Fits the next page to the size of an answer. */
  fit({ entries, bytes }: { readonly entries: number; readonly bytes: number }): void {
    const isFull = entries >= this.#entries;
    // An answer with fewer entries says little about the size of a full page.
    if (!isFull && bytes <= wantedBytes) return;
    const fitting = Math.floor((entries * wantedBytes) / bytes);
    this.#entries = Math.max(1, Math.min(fitting, entries * 2, maximumEntries));
  }

  /** Halves the page length after an answer for `asked` entries that was too long or too late. Undefined: one entry can't be halved. */
  halve(asked: number): number | undefined {
    if (asked === 1) return undefined;
    this.#entries = Math.floor(asked / 2);
    return this.#entries;
  }
}
