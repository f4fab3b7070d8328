import { closeSync, fstat, ftruncate, read, write, writeSync } from "node:fs";
import { promisify } from "node:util";
import type { LogOutput } from "./log-output.ts";

export interface LineWriterOptions {
  readonly output: LogOutput;
  /** Lines that wait for the disk or for a reader; more are lost. */
  readonly maximumBytes: number;
  /** How long a line waits for more of them before it is written. */
  readonly flushMilliseconds: number;
  /** Called each time that nothing could be written; it is tried again by itself. */
  readonly onFailure?: (error: unknown) => void;
  /** Called when lines are written again, with how many were lost meanwhile. */
  readonly onRecovered?: (lostLines: number) => void;
}

interface Chunk {
  bytes: Buffer;
  readonly lines: number;
  /** So much has been written. */
  offset: number;
}

const retryMilliseconds = 1000;
/** A pipe is full until its reader has read: that is no failure, and soon over. */
const fullPipeMilliseconds = 20;
const newline = 0x0a;

const writeBytes = promisify(write);
const readBytes = promisify(read);
const statOf = promisify(fstat);
const truncate = promisify(ftruncate);

/**
 * Appends lines without ever blocking the process: what cannot be written waits in a bounded buffer, is tried again, and is
 * lost and counted when the buffer is full. Lines are written whole: a half one that a full disk left is cut off again.
 */
export class LineWriter {
  readonly #options: LineWriterOptions;
  #output: LogOutput;
  #waiting: string[] = [];
  /** Those before it are in chunks already. */
  #firstWaiting = 0;
  #waitingBytes = 0;
  #chunk: Chunk | undefined;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isClosed = false;
  #lostSinceFailure = 0;
  /** Lines that will never be written. */
  lostLines = 0;

  constructor(options: LineWriterOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  /** Takes a line that ends with a newline. False when it is lost. */
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

  /** Writes what waits, or tries to for so long, and closes. Resolves with how many lines could not be written. */
  async close({ withinMilliseconds }: { readonly withinMilliseconds: number }): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMilliseconds);
    await Promise.race([late, (this.#writing ?? Promise.resolve()).then(() => this.#flush())]);
    clearTimeout(timer);
    clearTimeout(this.#timer);
    const left = (this.#chunk?.lines ?? 0) + this.#waiting.length - this.#firstWaiting;
    // A write that hangs goes on in the system: its descriptor must not become that of another file.
    if (this.#writing === undefined && this.#output.fd > 2) closeSync(this.#output.fd);
    return left;
  }

  /** One try, for a process that is about to end: it waits for nothing. */
  flushAtExit(): void {
    if (this.#isClosed) return;
    // What is being written is in the system's hands.
    if (this.#writing !== undefined) this.#chunk = undefined;
    try {
      for (let chunk = this.#nextChunk(); chunk !== undefined; chunk = this.#nextChunk()) {
        chunk.offset += writeSync(this.#output.fd, chunk.bytes, chunk.offset);
        if (chunk.offset === chunk.bytes.length) this.#chunk = undefined;
      }
    } catch {
      // There is nobody left to tell.
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
    let chunk: Chunk | undefined;
    try {
      this.#output = this.#output.reopened?.() ?? this.#output;
      const { fd } = this.#output;
      for (chunk = this.#nextChunk(); chunk !== undefined; chunk = this.#nextChunk()) {
        const { bytesWritten } = await writeBytes(fd, chunk.bytes, chunk.offset, chunk.bytes.length - chunk.offset);
        chunk.offset += bytesWritten;
        if (chunk.offset < chunk.bytes.length) continue;
        this.#chunk = undefined;
        if (this.#isFailing || this.#lostSinceFailure > 0) this.#recovered();
      }
    } catch (error) {
      const isFull = error instanceof Error && "code" in error && error.code === "EAGAIN";
      if (chunk !== undefined && this.#output.isFile) await this.#takeBackHalfLine(chunk);
      if (!isFull || this.#lostSinceFailure > 0) {
        this.#isFailing = true;
        this.#options.onFailure?.(error);
      }
      if (!this.#isClosed) this.#timer = this.#flushIn(isFull ? fullPipeMilliseconds : retryMilliseconds);
    }
  }

  #recovered(): void {
    this.#isFailing = false;
    const lost = this.#lostSinceFailure;
    this.#lostSinceFailure = 0;
    this.#options.onRecovered?.(lost);
  }

  /** Whole lines, as many as one write should take. */
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

  /**
   * Takes the beginning of a line, that the disk had just room for, off the file's end: other processes append to it too, and
   * the rest of the line would come after theirs. Where it cannot be taken off it gets an end. The line is written whole later.
   */
  async #takeBackHalfLine(chunk: Chunk): Promise<void> {
    const lineStart = chunk.offset === 0 ? 0 : chunk.bytes.lastIndexOf(newline, chunk.offset - 1) + 1;
    const half = chunk.bytes.subarray(lineStart, chunk.offset);
    if (half.length === 0) return;
    const isCut = await cutOff(this.#output.fd, half).catch(() => false);
    const rest = chunk.bytes.subarray(lineStart);
    chunk.bytes = isCut ? rest : Buffer.concat([Buffer.of(newline), rest]);
    chunk.offset = 0;
  }
}

/** Takes bytes off a file's end if they are there. */
async function cutOff(fd: number, bytes: Buffer): Promise<boolean> {
  const { size } = await statOf(fd);
  const { buffer } = await readBytes(fd, Buffer.alloc(bytes.length), 0, bytes.length, size - bytes.length);
  if (!bytes.equals(buffer)) return false;
  await truncate(fd, size - bytes.length);
  return true;
}
