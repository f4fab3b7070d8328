/** How many bytes the values of some keys take, by the group that a key belongs to. */
export class GroupSizes {
  readonly #groupOf: (key: string) => string;
  /** Of each group that has some. */
  readonly #bytes = new Map<string, number>();

  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf;
  }

  of(group: string): number {
    return this.#bytes.get(group) ?? 0;
  }

  /** Negative where a value has become smaller, or is gone. */
  add(key: string, bytes: number): void {
    if (bytes === 0) return;
    const group = this.#groupOf(key);
    const sum = this.of(group) + bytes;
    if (sum === 0) this.#bytes.delete(group);
    else this.#bytes.set(group, sum);
  }

  groups(): IterableIterator<string> {
    return this.#bytes.keys();
  }
}
