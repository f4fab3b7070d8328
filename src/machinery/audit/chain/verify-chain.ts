import type { KeyObject } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { splitLines } from "../../api/bytes/split-lines.ts";
import type { Line } from "../../api/bytes/split-lines.ts";
import { longestLineBytes } from "../../files/lines/appended-file.ts";
import { UnusableFile, unreadableFileReason } from "../../files/unusable-file.ts";
import { hashOf, isCheckpointSignedBy, parseLine } from "./chain-line.ts";
import type { ChainPosition, ParsedLine } from "./chain-line.ts";

interface VerifyOptions {
  /** The files of the log in any order, compressed or not. */
  readonly files: readonly string[];
  /** Undefined: signatures are not checked. */
  readonly publicKey: KeyObject | undefined;
  /** A checkpoint that was kept outside of the log, and that the log must contain. */
  readonly checkpoint: string | undefined;
}

export interface ChainReport {
  /** In their order in the chain. */
  readonly files: readonly {
    readonly file: string;
    readonly lines: number;
    readonly first: number;
    readonly last: number;
  }[];
  readonly checkpoints: number;
  /** The signs that the log was changed. Empty: none was found. */
  readonly faults: readonly string[];
  /** The last line that a checkpoint covers. 0: there is no checkpoint. */
  readonly signedUntil: number;
  /** Ranges of lines that were signed only when another process continued after a crash. */
  readonly signedLate: readonly string[];
}

const maximumFaults = 100;

/**
 * Reads the files of a chained log and finds every line that was changed, removed, added or moved. The files alone cannot show that the
 * oldest files are missing, or that all lines behind a checkpoint are missing. Rejects with UnusableFile for a file that cannot be read.
 */
export async function verifyAuditChain({ files, publicKey, checkpoint }: VerifyOptions): Promise<ChainReport> {
  const ordered = await inOrder(files);
  const verification = new Verification({ publicKey, checkpoint });
  for (const file of ordered) {
    verification.beginFile(file);
    for await (const line of linesOf(file)) verification.take(line);
    verification.endFile();
  }
  return verification.report();
}

/** The files, sorted by the sequence numbers of their first lines. */
async function inOrder(files: readonly string[]): Promise<string[]> {
  const found: { readonly file: string; readonly first: number }[] = [];
  for (const file of new Set(files)) {
    let first = 0;
    for await (const { bytes } of linesOf(file)) {
      first = parseLine(bytes.toString("utf8"))?.sequence ?? 0;
      break;
    }
    found.push({ file, first });
  }
  return found.toSorted((one, other) => one.first - other.first).map(({ file }) => file);
}

class Verification {
  readonly #publicKey: KeyObject | undefined;
  readonly #checkpoint: string | undefined;
  readonly #awaited: ParsedLine | undefined;
  readonly #files: { file: string; lines: number; first: number; last: number }[] = [];
  readonly #faults: string[] = [];
  readonly #signedLate: string[] = [];
  #before: ChainPosition | undefined;
  #isBroken = false;
  #checkpoints = 0;
  #signedUntil = 0;
  /** The hash of the line with the sequence number of the awaited checkpoint. */
  #foundHash: string | undefined;

  constructor({ publicKey, checkpoint }: Pick<VerifyOptions, "publicKey" | "checkpoint">) {
    this.#publicKey = publicKey;
    this.#checkpoint = checkpoint;
    this.#awaited = checkpoint === undefined ? undefined : parseLine(checkpoint);
  }

  beginFile(file: string): void {
    this.#files.push({ file, lines: 0, first: 0, last: 0 });
  }

  take({ bytes, isWhole }: Line): void {
    const file = this.#files.at(-1);
    if (file === undefined) return;
    file.lines++;
    const line = isWhole ? parseLine(bytes.toString("utf8")) : undefined;
    if (line === undefined) {
      this.#fault(isWhole ? "is not a line of the chain" : "is cut off");
      this.#isBroken = true;
      return;
    }
    if (file.lines === 1) {
      file.first = line.sequence;
      if (line.checkpoint?.type !== "begin") this.#fault("is not the beginning of a file: lines before it are missing");
    }
    file.last = line.sequence;
    this.#checkPlace(line);
    // The hash of the bytes, because different bytes can decode to the same text.
    const hash = hashOf(bytes);
    if (line.sequence === this.#awaited?.sequence) this.#foundHash = hash;
    if (line.checkpoint !== undefined) this.#checkCheckpoint(line, line.checkpoint);
    this.#before = { sequence: line.sequence, hash };
    this.#isBroken = false;
  }

  endFile(): void {
    if (this.#files.at(-1)?.lines === 0) this.#faults.push(`${this.#files.at(-1)?.file}: has no lines`);
  }

  report(): ChainReport {
    if (this.#checkpoint !== undefined) this.#checkEnd(this.#checkpoint);
    return {
      files: this.#files,
      checkpoints: this.#checkpoints,
      faults: this.#faults,
      signedUntil: this.#signedUntil,
      signedLate: this.#signedLate,
    };
  }

  #checkEnd(checkpoint: string): void {
    const { sequence = 0, checkpoint: signed } = this.#awaited ?? {};
    const last = this.#before?.sequence ?? 0;
    if (signed === undefined || (this.#publicKey !== undefined && !isCheckpointSignedBy(this.#publicKey, signed))) {
      this.#faults.push("the given checkpoint is not signed by the key");
    } else if (last < sequence) {
      this.#faults.push(`the end is missing: lines ${last + 1} to ${sequence} were written too`);
    } else if (this.#foundHash !== hashOf(checkpoint)) {
      this.#faults.push(`line ${sequence} of the chain is not the given checkpoint`);
    }
  }

  #checkPlace({ sequence, previous }: ParsedLine): void {
    const before = this.#before;
    // The lines before the first file are not known, and a broken line is already reported as a fault.
    if (before === undefined || this.#isBroken) return;
    if (sequence > before.sequence + 1) {
      this.#fault(`comes after lines that are missing: ${before.sequence + 1} to ${sequence - 1}`);
    } else if (sequence <= before.sequence) this.#fault(`has the number ${sequence} after line ${before.sequence}`);
    else if (previous !== before.hash) this.#fault("does not fit the line before it: one of the two was changed");
  }

  #checkCheckpoint({ sequence }: ParsedLine, checkpoint: NonNullable<ParsedLine["checkpoint"]>): void {
    this.#checkpoints++;
    if (this.#publicKey !== undefined && !isCheckpointSignedBy(this.#publicKey, checkpoint)) {
      this.#fault("is a checkpoint that is not signed by the key");
      return;
    }
    const first = this.#signedUntil + 1;
    if (checkpoint.type === "resume" && this.#signedUntil > 0 && first < sequence) {
      this.#signedLate.push(first === sequence - 1 ? String(first) : `${first} to ${sequence - 1}`);
    }
    this.#signedUntil = sequence;
  }

  #fault(message: string): void {
    const { file, lines } = this.#files.at(-1) ?? { file: "", lines: 0 };
    if (this.#faults.length < maximumFaults) this.#faults.push(`${file}: line ${lines} ${message}`);
  }
}

/** Reads the lines of a file, compressed or not. The last may lack its line break. Throws UnusableFile, which names the file. */
async function* linesOf(file: string): AsyncGenerator<Line> {
  try {
    yield* readLines(file);
  } catch (cause) {
    throw new UnusableFile(`cannot read ${file}: ${unreadableFileReason(cause)}`, { cause });
  }
}

async function* readLines(file: string): AsyncGenerator<Line> {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Error("a log is read twice; name a file");
    const magic = Buffer.alloc(2);
    await handle.read(magic, 0, 2, 0);
    const source = handle.createReadStream({ start: 0, autoClose: false });
    const bytes: AsyncIterable<Buffer> = magic.equals(gzipMagic) ? source.pipe(createGunzip()) : source;
    yield* splitLines(bytes, { maximumBytes: longestLineBytes, tooLong });
  } finally {
    await handle.close();
  }
}

const gzipMagic = Buffer.of(0x1f, 0x8b);
const tooLong = () => new UnusableFile(`a line is longer than ${longestLineBytes} bytes; name an audit log`);
