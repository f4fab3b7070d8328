import { closeSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";
import { errorCode } from "../../api/thrown-error.ts";
import { fullPipeMilliseconds } from "./log-output.ts";
import type { LogOutput } from "./log-output.ts";

const writeBytes = promisify(write);

const sizeOf = (line = ""): number => Buffer.byteLength(line) + 1;

/** Writes lines to standard output, a pipe or a device. */
export class StreamOutput {
  readonly #output: LogOutput;
  /** Whether the last write failed in the middle, perhaps within a line. */
  #isTorn = false;

  constructor(output: LogOutput) {
    this.#output = output;
  }

  /** Writes lines. Waits while the reader does not read. Rejects with the system's error. */
  async write(lines: readonly string[]): Promise<void> {
    for (let begin = 0; begin < lines.length;) {
      // In blocks of whole lines, which stay together when other processes write to the same output.
      let end = begin + 1;
      for (let bytes = sizeOf(lines[begin]); end < lines.length; end++) {
        bytes += sizeOf(lines[end]);
        if (bytes > this.#output.atomicBytes) break;
      }
      await this.#writeWhole(this.#bytesOf(lines.slice(begin, end)));
      begin = end;
    }
  }

  /** Tries once to write the lines, without waiting. */
  writeNow(lines: readonly string[]): void {
    writeSync(this.#output.fd, this.#bytesOf(lines));
  }

  close(): void {
    if (this.#output.fd > 2) closeSync(this.#output.fd);
  }

  async #writeWhole(bytes: Buffer): Promise<void> {
    for (let offset = 0; offset < bytes.length;) {
      try {
        offset += (await writeBytes(this.#output.fd, bytes, offset, bytes.length - offset)).bytesWritten;
      } catch (error) {
        if (errorCode(error) === "EAGAIN") {
          await new Promise((resolve) => setTimeout(resolve, fullPipeMilliseconds).unref());
          continue;
        }
        this.#isTorn = offset > 0;
        throw error;
      }
    }
    this.#isTorn = false;
  }

  #bytesOf(lines: readonly string[]): Buffer {
    return Buffer.from(`${this.#isTorn ? "\n" : ""}${lines.map((line) => `${line}\n`).join("")}`);
  }
}
