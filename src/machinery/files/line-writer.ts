import { closeSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";
import { errorCode } from "../api/thrown-error.ts";
import { fullPipeMilliseconds } from "./log-output.ts";
import type { LogOutput } from "./log-output.ts";

export interface LineWriterOptions {
  readonly output: LogOutput;
  /** The limit for lines that wait for the disk or for a reader. Beyond it, lines are lost. */
  readonly maximumBytes: number;
  /** How long a line waits for more lines before it is written. */
  readonly flushMilliseconds: number;
  /** Called when writing works again, with the number of lines that were lost. */
  readonly onRecovered?: (lostLines: number) => void;
}

interface Chunk {
  bytes: Buffer;
  readonly lines: number;
  /** How many bytes have been written. */
  offset: number;
}

const retryMilliseconds = 1000;

const writeBytes = promisify(write);

/**
 * Appends lines without ever blocking the process. Lines that cannot be written wait in a bounded buffer and are
 * retried. When the buffer is full, lines are dropped and counted.
 */
export class LineWriter {
  readonly #options: LineWriterOptions;
  readonly #output: LogOutput;
  #waiting: string[] = [];
  /** Lines before this index are in chunks already. */
  #firstWaiting = 0;
  #waitingBytes = 0;
  #chunk: Chunk | undefined;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isClosed = false;
  #lostSinceFailure = 0;
  /** The number of lines that will never be written. */
  lostLines = 0;

  constructor(options: LineWriterOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  /** Takes a line that ends with a newline. Returns false when the line is lost. */
  write(line: string): boolean {
    const bytes = Buffer.byteLength(line);
    const unwritten = this.#chunk === undefined ? 0 : this.#chunk.bytes.length;
    if (this.#isClosed || this.#waitingBytes + unwritten + bytes > this.#options.maximumBytes) {
      this.lostLines++;
      this.#lostSinceFailure++;
      return false;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    if (this.#writing === undefined) this.#timer ??= this.#flushIn(this.#options.flushMilliseconds);
    return true;
  }

  /**
   * Writes the waiting lines, at most for the given time, and closes. Resolves with the number of lines that could not
   * be written.
   */
  async close({ withinMilliseconds }: { readonly withinMilliseconds: number }): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, withinMilliseconds)));
    await Promise.race([late, (this.#writing ?? Promise.resolve()).then(() => this.#flush())]);
    clearTimeout(timer);
    clearTimeout(this.#timer);
    const left = (this.#chunk?.lines ?? 0) + this.#waiting.length - this.#firstWaiting;
    // A hanging write continues in the kernel: its descriptor must not be reused for another file.
    if (this.#writing === undefined && this.#output.fd > 2) closeSync(this.#output.fd);
    return left;
  }

  /** Tries once, without waiting: for what must be out before something else happens, such as the exit of the process. */
  flushNow(): void {
    if (this.#isClosed) return;
    // The kernel already has the chunk that is being written.
    if (this.#writing !== undefined) this.#chunk = undefined;
    try {
      for (let chunk = this.#nextChunk(); chunk !== undefined; chunk = this.#nextChunk()) {
        chunk.offset += writeSync(this.#output.fd, chunk.bytes, chunk.offset);
        if (chunk.offset === chunk.bytes.length) this.#chunk = undefined;
      }
    } catch {
      // It is tried again, if the process lives on.
    }
  }

  #flushIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => void this.#flush(), milliseconds).unref();
  }

  #flush(): Promise<void> {
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Never rejects. */
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
      if (!this.#isClosed) this.#timer = this.#flushIn(isFull ? fullPipeMilliseconds : retryMilliseconds);
    }
  }

  #recovered(): void {
    this.#isFailing = false;
    const lost = this.#lostSinceFailure;
    this.#lostSinceFailure = 0;
    this.#options.onRecovered?.(lost);
  }

  /** Returns whole lines, as many as one write should take. */
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
    this.#chunk = { bytes, lines: end - this.#firstWaiting, offset: 0 };
    this.#waiting.fill("", this.#firstWaiting, end);
    this.#firstWaiting = end;
    this.#waitingBytes -= bytes.length;
    return this.#chunk;
  }
}
