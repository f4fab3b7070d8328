import type { LongWork } from "../../scheduling/long-work.ts";

/** A body begins with room for so many bytes. With half a megabyte, a list of sixty objects took five times as long. */
const firstBytes = 16 * 1024;
/** The estimate is too high when the first parts are longer than the others. */
const maximumGrowth = 16;
/** The other parts may be a little longer than the first. */
const spare = 1.02;
const copiedAtOnceBytes = 1024 * 1024;

/**
 * The bytes of a long body that is made part by part. When its room is full, it takes the room that the whole body will probably need. To
 * collect the parts and join them afterwards would take the memory of the body twice, and copy each byte once more.
 */
export class GrowingBody {
  readonly #work: LongWork;
  readonly #start: number;
  #end: number;
  #bytes: Buffer = Buffer.allocUnsafeSlow(firstBytes);

  /** `headBytes`: the most bytes of the head that `finish` puts before the parts. */
  constructor({ work, headBytes }: { readonly work: LongWork; readonly headBytes: number }) {
    this.#work = work;
    this.#start = headBytes;
    this.#end = headBytes;
  }

  /** The length of all parts, in bytes. */
  get length(): number {
    return this.#end - this.#start;
  }

  /**
   * Adds a part, after which `madeShare` (of 1) of the body is made. Undefined: it is added. Otherwise await the promise first, because the
   * body grows in turns.
   */
  add(part: string | Buffer, madeShare: number): Promise<void> | undefined {
    const end = this.#end + (typeof part === "string" ? Buffer.byteLength(part) : part.length);
    if (end > this.#bytes.length) return this.#grow(end, end / madeShare).then(() => this.#write(part, end));
    this.#write(part, end);
    return undefined;
  }

  #write(part: string | Buffer, end: number): void {
    if (typeof part === "string") this.#bytes.write(part, this.#end);
    else part.copy(this.#bytes, this.#end);
    this.#end = end;
  }

  async #grow(neededBytes: number, estimatedBytes: number): Promise<void> {
    const { length } = this.#bytes;
    const wanted = Math.min(Math.max(Math.ceil(estimatedBytes * spare), 2 * length), maximumGrowth * length);
    const grown = Buffer.allocUnsafeSlow(Math.max(neededBytes, wanted));
    for (let at = 0; at < this.#end; at += copiedAtOnceBytes) {
      this.#bytes.copy(grown, at, at, Math.min(at + copiedAtOnceBytes, this.#end));
      const pause = this.#work.pause();
      if (pause !== undefined) await pause;
    }
    this.#bytes = grown;
  }

  /** Returns the whole body, with a head before its parts and a tail behind them. Call it once. */
  async finish([head, tail]: readonly [head: Buffer, tail: Buffer]): Promise<Buffer> {
    await this.add(tail, 1);
    const start = this.#start - head.length;
    head.copy(this.#bytes, start);
    return this.#bytes.subarray(start, this.#end);
  }
}
