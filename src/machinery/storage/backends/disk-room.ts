import { closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { storeBytes } from "./lmdb-files.ts";

/** The disk does not have enough free space for a commit. Nothing was written. */
export class NoRoomOnDisk extends Error {
  override readonly name = "NoRoomOnDisk";
}

/** The most disk space that a commit may take: the bytes and the pages together. */
export interface CommitSize {
  readonly bytes: number;
  readonly pages: number;
}

const pageBytes = 4096;
/** The pages that each commit writes besides: the upper pages of the tables, the counters, and the list of free pages. */
const otherPages = 64;

/**
 * Refuses commits that might not fit on the disk. When the system refuses to write a page, LMDB may overflow the buffer of its error
 * message, and the process ends by a signal (lmdb 3.5.6, `mdb_page_flush`). A disk that fills up during a commit does no harm: the
 * system then writes a part of the pages, for which LMDB makes no message.
 */
export class DiskRoom {
  readonly #directory: string;
  /** Whether a commit has failed since the last check: there may be a quota or a limit that the file system does not report. */
  #needsTestWrite = false;

  /** `directory`: the store's. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Throws NoRoomOnDisk; after a failed commit, also the system's error for a test write. Call it before each commit. */
  check({ bytes, pages }: CommitSize): void {
    const needed = bytes + (pages + otherPages) * pageBytes;
    const free = freeBytesIn(this.#directory);
    if (free !== undefined && free < needed) {
      throw new NoRoomOnDisk(`a write may take ${kibibytes(needed)} KiB, and ${kibibytes(free)} KiB are free`);
    }
    if (this.#needsTestWrite) this.#try(needed);
    this.#needsTestWrite = false;
  }

  /** Call it after a failed commit: the next commit is refused until the system lets this process write as many bytes to a test file. */
  requireTestWrite(): void {
    this.#needsTestWrite = true;
  }

  /** Writes so many bytes to a test file, from the position at which the store's file ends: there a limit of the file size would apply. */
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

/** Returns the free bytes of the file system that a directory is on. Undefined when the file system does not report them. */
export function freeBytesIn(directory: string): number | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(directory);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}
