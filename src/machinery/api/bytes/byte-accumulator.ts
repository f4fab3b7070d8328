import { noBytes } from "./no-bytes.ts";

/**
 * Joins bytes that come in parts. It takes memory for the bytes, whatever the number of parts: a megabyte in parts of one byte would
 * otherwise be a million objects. A single part is kept as it is.
 */
export class ByteAccumulator {
  #bytes: Buffer = noBytes;
  #isOwn = false;
  length = 0;

  /** The part must not change any more. */
  add(part: Buffer): void {
    if (this.length === 0) {
      this.#bytes = part;
      this.#isOwn = false;
      this.length = part.length;
      return;
    }
    const length = this.length + part.length;
    if (!this.#isOwn || length > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(length * 2);
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
      this.#isOwn = true;
    }
    part.copy(this.#bytes, this.length);
    this.length = length;
  }

  /** Returns all bytes, and forgets them. */
  take(): Buffer {
    const taken = this.#isOwn ? this.#bytes.subarray(0, this.length) : this.#bytes;
    this.#bytes = noBytes;
    this.#isOwn = false;
    this.length = 0;
    return taken;
  }
}
