/** Bytes of a body that wait to be sent, in their order. */
export class PendingBytes {
  /** How many bytes wait. */
  length = 0;
  readonly #chunks: Uint8Array[] = [];
  /** The index of the first chunk that is not completely sent. */
  #first = 0;
  /** How many bytes of that chunk are sent. */
  #offset = 0;

  /** Adds bytes. They must not change any more, because several bodies may share them. */
  push(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.length += bytes.length;
  }

  /** Moves the next `length` bytes into a buffer, from `at` on. As many must wait, and fit. */
  // oxlint-disable-next-line max-params -- called for every frame: an object each would cost
  moveTo(target: Buffer, at: number, length: number): void {
    const end = at + length;
    while (at < end) {
      const chunk = this.#chunks[this.#first] as Uint8Array; // as many wait
      const chunkEnd = Math.min(chunk.length, this.#offset + end - at);
      const isWhole = this.#offset === 0 && chunkEnd === chunk.length;
      target.set(isWhole ? chunk : chunk.subarray(this.#offset, chunkEnd), at);
      at += chunkEnd - this.#offset;
      this.#offset = chunkEnd === chunk.length ? 0 : chunkEnd;
      if (chunkEnd === chunk.length) this.#first++;
    }
    this.length -= length;
    if (this.#first >= 64 || this.length === 0) this.#dropSent();
  }

  clear(): void {
    this.#chunks.length = 0;
    this.#first = 0;
    this.#offset = 0;
    this.length = 0;
  }

  #dropSent(): void {
    // A watch usually has one event at a time: `pop` keeps the array's memory for the next one.
    if (this.#chunks.length === 1 && this.#first === 1) this.#chunks.pop();
    else this.#chunks.splice(0, this.#first);
    this.#first = 0;
  }
}
