import { closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { storeBytes } from "./lmdb-files.ts";

/** The disk has no room for what a commit may take. Nothing was written. */
export class NoRoomOnDisk extends Error {
  override readonly name = "NoRoomOnDisk";
}

/** What a commit may take at most. */
export interface CommitSize {
  readonly bytes: number;
  /** Besides the bytes. */
  readonly pages: number;
}

const pageBytes = 4096;
/** In each commit: the upper pages of the tables, the counters, and the list of free pages. */
const otherPages = 64;

/**
 * Keeps commits away from a disk where they might not fit. Where the system refuses to write a page, LMDB may write its message beyond
 * the memory that it has for it, and the process ends by a signal (lmdb 3.5.6, `mdb_page_flush`). A disk that fills up during a commit
 * does no harm: the system then writes a part, and for that LMDB has no message.
 */
export class DiskRoom {
  readonly #directory: string;
  /** A commit has failed: there may be a quota or a limit, of which the file system does not tell. */
  #isInDoubt = false;

  /** The directory is the store's. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Throws NoRoomOnDisk, or what the system says where a commit has failed before. Call it before each commit. */
  check({ bytes, pages }: CommitSize): void {
    const needed = bytes + (pages + otherPages) * pageBytes;
    const free = freeBytesIn(this.#directory);
    if (free !== undefined && free < needed) {
      throw new NoRoomOnDisk(`a write may take ${kibibytes(needed)} KiB, and ${kibibytes(free)} KiB are free`);
    }
    if (this.#isInDoubt) this.#try(needed);
    this.#isInDoubt = false;
  }

  /** Call it after a commit that failed: the next one waits until the system takes as much from this process. */
  doubt(): void {
    this.#isInDoubt = true;
  }

  /** Writes where the store's file ends, but to another file. */
  #try(bytes: number): void {
    const file = join(this.#directory, `room-${process.pid}`);
    rmSync(file, { force: true });
    try {
      const descriptor = openSync(file, "wx", 0o600);
      try {
        const position = storeBytes(this.#directory) ?? 0;
        for (let written = 0; written < bytes;) {
          written += writeSync(descriptor, zeros, 0, Math.min(zeros.length, bytes - written), position + written);
        }
      } finally {
        closeSync(descriptor);
      }
    } finally {
      rmSync(file, { force: true });
    }
  }
}

const zeros = Buffer.alloc(16 * pageBytes);
const kibibytes = (bytes: number): number => Math.floor(bytes / 1024);

/** The free bytes of the file system below a directory. Undefined where it does not say. */
export function freeBytesIn(directory: string): number | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(directory);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}
