const maximumEntries = 1_000;
/** Before any size is known. With entries of 1.5 MiB, etcd's largest by default, this is 96 MiB. */
const firstEntries = 64;
const wantedBytes = 16 * 2 ** 20;

/** How many entries of a range to ask for at once, so that an answer has about 16 MiB at most. */
export class PageLength {
  #entries = firstEntries;

  get entries(): number {
    return this.#entries;
  }

  /** Fits the next page to the size of an answer. */
  fit({ entries, bytes }: { readonly entries: number; readonly bytes: number }): void {
    const isFull = entries >= this.#entries;
    // A short answer says little about a longer one.
    if (!isFull && bytes <= wantedBytes) return;
    const fitting = Math.floor((entries * wantedBytes) / bytes);
    this.#entries = Math.max(1, Math.min(fitting, entries * 2, maximumEntries));
  }

  /** After an answer to `asked` entries that was too long or too late. Undefined: one entry can't be halved. */
  halve(asked: number): number | undefined {
    if (asked === 1) return undefined;
    this.#entries = Math.floor(asked / 2);
    return this.#entries;
  }
}
