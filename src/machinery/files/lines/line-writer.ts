import { write, writeSync } from "node:fs";
import { promisify } from "node:util";
import { errorCode } from "../../api/thrown-error.ts";
import { fullPipeMilliseconds } from "./log-output.ts";
import type { LogOutput } from "./log-output.ts";

export interface LineWriterOptions {
  readonly output: LogOutput;
  /** The limit for lines that wait for the disk or for a reader. Beyond it, lines are lost. */
  readonly maximumBytes: number;
  /** Called when writing works again, with the number of lines that were lost. */
  readonly onRecovered?: (lostLines: number) => void;
}

interface Chunk {
  bytes: Buffer;
  /** How many bytes have been written. */
  offset: number;
}

const retryMilliseconds = 1000;
const newline = Buffer.from("\n");

const writeBytes = promisify(write);

/**
 * Appends lines without ever blocking the process. Lines that cannot be written wait in a bounded buffer and are
 * retried. When the buffer is full, lines are dropped and counted.
 */
export class LineWriter {
  readonly #options: LineWriterOptions;
  readonly #output: LogOutput;
  #waiting: string[] = [];
  /** The index of the first waiting line. The lines before it are in chunks already. */
  #firstWaiting = 0;
  #waitingBytes = 0;
  #chunk: Chunk | undefined;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #lostSinceFailure = 0;

  constructor(options: LineWriterOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  /** Adds a line that ends with a newline. It is written in a later turn of the event loop. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    const unwritten = this.#chunk === undefined ? 0 : this.#chunk.bytes.length;
    if (this.#waitingBytes + unwritten + bytes > this.#options.maximumBytes) {
      this.#lostSinceFailure++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    if (this.#writing === undefined && this.#timer === undefined) this.#timer = this.#flushIn(0);
  }

  /** Tries once to write, without waiting: for lines that must be written before another step, such as the exit of the process. */
  flushNow(): void {
    // The kernel already has the chunk that is being written.
    if (this.#writing !== undefined) this.#chunk = undefined;
    try {
      for (let chunk = this.#nextChunk(); chunk !== undefined; chunk = this.#nextChunk()) {
        chunk.offset += writeSync(this.#output.fd, chunk.bytes, chunk.offset);
        if (chunk.offset === chunk.bytes.length) this.#chunk = undefined;
      }
    } catch {
      // The lines are tried again if the process continues.
    }
  }

  #flushIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#flush(), milliseconds).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined));
  }

  /** Writes the waiting lines. Never rejects. */
  async #writeAll(): Promise<void> {
    try {
      const { fd } = this.#output;
      for (let chunk = this.#nextChunk(); chunk !== undefined; chunk = this.#nextChunk()) {
        const { bytesWritten } = await writeBytes(fd, chunk.bytes, chunk.offset, chunk.bytes.length - chunk.offset);
        chunk.offset += bytesWritten;
        if (chunk.offset < chunk.bytes.length) continue;
        this.#chunk = undefined;
        if (this.#isFailing || this.#lostSinceFailure > 0) this.#recovered();
      }
    } catch (error) {
      const isFull = errorCode(error) === "EAGAIN";
      if (!isFull || this.#lostSinceFailure > 0) this.#isFailing = true;
      this.#timer = this.#flushIn(isFull ? fullPipeMilliseconds : retryMilliseconds);
    }
  }

  #recovered(): void {
    this.#isFailing = false;
    const lost = this.#lostSinceFailure;
    this.#lostSinceFailure = 0;
    this.#options.onRecovered?.(lost);
  }

  /** Returns the whole lines of the next write. */
  #nextChunk(): Chunk | undefined {
    if (this.#chunk !== undefined) return this.#chunk;
    if (this.#firstWaiting === this.#waiting.length) {
      this.#waiting = [];
      this.#firstWaiting = 0;
      return undefined;
    }
    let end = this.#firstWaiting;
    for (let bytes = 0; end < this.#waiting.length; end++) {
      bytes += Buffer.byteLength(this.#waiting[end] ?? "");
      if (end > this.#firstWaiting && bytes > this.#output.atomicBytes) break;
    }
    const bytes = Buffer.from(this.#waiting.slice(this.#firstWaiting, end).join(""));
    // A program that this one has started may write to the same file, and end without a line break.
    const isTorn = this.#output.isTorn?.() === true;
    this.#chunk = { bytes: isTorn ? Buffer.concat([newline, bytes]) : bytes, offset: 0 };
    this.#waiting.fill("", this.#firstWaiting, end);
    this.#firstWaiting = end;
    this.#waitingBytes -= bytes.length;
    return this.#chunk;
  }
}
