import type { ByteSink } from "../../api/http-message.ts";

/** A client that takes less than this in a second counts as not reading. */
const smallestReadBytes = 16 * 1024;

/** Writes the bytes of a stream to its client, and records since when the client has not read the waiting bytes. */
export class StreamSink implements ByteSink {
  readonly #sink: ByteSink;
  #writtenBytes = 0;
  #takenBytes = 0;
  #readAtSecond: number;

  constructor(sink: ByteSink, nowSecond: number) {
    this.#sink = sink;
    this.#readAtSecond = nowSecond;
  }

  write(bytes: Uint8Array): void {
    this.#writtenBytes += bytes.length;
    this.#sink.write(bytes);
  }

  bufferedBytes(): number {
    return this.#sink.bufferedBytes();
  }

  end(): void {
    this.#sink.end();
  }

  /** The last second in which the client read, or had read everything. Call it every second. */
  readAtSecond(nowSecond: number): number {
    const waitingBytes = this.bufferedBytes();
    const takenBytes = this.#writtenBytes - waitingBytes;
    if (waitingBytes === 0 || takenBytes >= this.#takenBytes + smallestReadBytes) {
      this.#takenBytes = takenBytes;
      this.#readAtSecond = nowSecond;
    }
    return this.#readAtSecond;
  }
}
