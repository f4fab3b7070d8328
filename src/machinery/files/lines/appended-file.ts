import { closeSync, fstatSync, ftruncateSync, readSync, renameSync, statSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";
import type { SqliteLock } from "../locks/sqlite-lock.ts";
import { newBackupPath } from "./log-backups.ts";
import { openLogFile } from "./log-output.ts";

/** Links lines to the previous lines of a file, which any process may have written. */
export interface LineLinks {
  /** The lines that begin a file. */
  begin(): readonly string[];
  /** The lines that end a file. */
  end(): readonly string[];
  /** Continues after a line that another process has written. Returns false if the line has no links of this kind. */
  continueAfter(lastLine: string): boolean;
  /** Returns the lines with their links, as they are written. */
  link(lines: readonly string[]): readonly string[];
  /** Call it when the linked lines were written. */
  commit(): void;
  /** Call it when the linked lines were lost. The next lines are linked to the line before the lost ones. */
  rollBack(): void;
}

interface AppendedFileOptions {
  readonly path: string;
  /** Held during each write, so that several processes can append to the file and move it away. */
  readonly lock: SqliteLock;
  /** A file that a write would make larger than this is moved away first. 0: never. */
  readonly maximumBytes: number;
  /** Undefined: lines are written as they are. */
  readonly links: LineLinks | undefined;
  readonly now: () => number;
  /** Called when the file was moved away, while the lock is still held. */
  readonly onMoved: (backup: string) => void;
}

const writeBytes = promisify(write);
const lockPauseMilliseconds = 5;
/** How long a starting process waits for the lock. */
const startMilliseconds = 10_000;
const exitMilliseconds = 100;
const tailBytes = 64 * 1024;
/** The longest line that a reader of the file takes. */
export const longestLineBytes = 32 * 1024 * 1024;
const newline = 0x0a;

/**
 * A file of lines (0600) to which several processes append. A write is complete or has no effect: a part of a write, as on a full disk, is
 * removed again. If the file was moved or removed, for instance by logrotate, the next write creates it again.
 */
export class AppendedFile {
  readonly #options: AppendedFileOptions;
  #fd: number;
  #inode = 0n;
  /** The size of the file after the last write of this process. If the file has another size, other processes have written to it. */
  #endedAt = -1;

  /** Opens the file. Throws the system's error, and an error for links and for files of other users: see `openLogFile`. */
  constructor(options: AppendedFileOptions) {
    this.#options = options;
    if (!options.lock.lockExclusive({ waitMilliseconds: startMilliseconds }))
      throw new Error("another process holds its lock");
    try {
      this.#fd = this.#open();
    } finally {
      options.lock.unlock();
    }
  }

  /** Whether another file, or none, is at the path since the last write of this process. The next write opens or creates it. */
  get isMoved(): boolean {
    return statSync(this.#options.path, { bigint: true, throwIfNoEntry: false })?.ino !== this.#inode;
  }

  /** Appends lines, which have no line breaks. Rejects with the system's error when none of them was written. */
  async append(lines: readonly string[]): Promise<void> {
    const { lock } = this.#options;
    while (!lock.lockExclusive({ waitMilliseconds: 0 }))
      await new Promise((resolve) => setTimeout(resolve, lockPauseMilliseconds));
    try {
      const { bytes, size } = this.#prepare(lines);
      try {
        for (let offset = 0; offset < bytes.length;) {
          offset += (await writeBytes(this.#fd, bytes, offset, bytes.length - offset)).bytesWritten;
        }
      } catch (error) {
        this.#undoWrite(size);
        throw error;
      }
      this.#written(size + bytes.length);
    } finally {
      lock.unlock();
    }
  }

  /** Appends lines without waiting, for a process that is about to exit. */
  appendNow(lines: readonly string[]): void {
    const { lock } = this.#options;
    if (!lock.lockExclusive({ waitMilliseconds: exitMilliseconds })) return;
    try {
      const { bytes, size } = this.#prepare(lines);
      this.#writeNow(bytes, size);
    } finally {
      lock.unlock();
    }
  }

  /** Writes the last lines of the links, if there are links, and closes the file. */
  close(): void {
    const { lock, links } = this.#options;
    try {
      if (links === undefined || !lock.lockExclusive({ waitMilliseconds: exitMilliseconds })) return;
      try {
        const { bytes, size } = this.#prepare([]);
        this.#writeNow(Buffer.concat([bytes, Buffer.from(textOf(links.end()))]), size);
      } finally {
        lock.unlock();
      }
    } finally {
      closeSync(this.#fd);
    }
  }

  /** Reopens and moves the file as needed. Returns the bytes to write, and the size of the file before them. */
  #prepare(lines: readonly string[]): { readonly bytes: Buffer; readonly size: number } {
    const { links, maximumBytes } = this.#options;
    if (this.isMoved) {
      // Another process may have written more to the file before it was moved.
      const lastLine = lastLineOf(this.#fd, fstatSync(this.#fd).size);
      this.#reopen();
      // A file with lines goes on after its own last line, which is newer.
      if (fstatSync(this.#fd).size === 0) links?.continueAfter(lastLine);
    }
    let size = fstatSync(this.#fd).size;
    const addedBytes = lines.reduce((total, line) => total + Buffer.byteLength(line) + 1, 0);
    if (maximumBytes > 0 && size > 0 && size + addedBytes > maximumBytes) {
      if (links !== undefined && this.#continues(size)) {
        this.#writeNow(Buffer.from(textOf(links.end())), size);
      }
      this.#move();
      size = 0;
    }
    const isContinued = size > 0 && this.#continues(size);
    if (size > 0 && !isContinued) {
      // The file has lines without links of this kind, but linked lines must begin in a file of their own.
      this.#move();
      size = 0;
    }
    const begun = isContinued ? [] : (links?.begin() ?? []);
    return { bytes: Buffer.from(textOf([...begun, ...(links?.link(lines) ?? lines)])), size };
  }

  #continues(size: number): boolean {
    const { links } = this.#options;
    if (links === undefined || size === this.#endedAt) return true;
    return links.continueAfter(lastLineOf(this.#fd, size));
  }

  #writeNow(bytes: Buffer, size: number): void {
    try {
      for (let offset = 0; offset < bytes.length;) offset += writeSync(this.#fd, bytes, offset);
    } catch (error) {
      this.#undoWrite(size);
      throw error;
    }
    this.#written(size + bytes.length);
  }

  #written(size: number): void {
    this.#endedAt = size;
    this.#options.links?.commit();
  }

  #undoWrite(size: number): void {
    this.#options.links?.rollBack();
    try {
      ftruncateSync(this.#fd, size);
    } catch {
      // It is not a regular file, or the system refuses. The line break makes the next write begin a new line.
      try {
        writeSync(this.#fd, "\n");
      } catch {
        // Nothing can be written now.
      }
    }
  }

  #move(): void {
    const { path, onMoved } = this.#options;
    const backup = newBackupPath(path, this.#options.now());
    renameSync(path, backup);
    this.#reopen();
    onMoved(backup);
  }

  /** Opens the path again, where a new file or no file may be now. */
  #reopen(): void {
    const before = this.#fd;
    this.#fd = this.#open();
    closeSync(before);
  }

  #open(): number {
    const { fd } = openLogFile(this.#options.path, { tornLine: this.#options.links === undefined ? "end" : "remove" });
    this.#inode = fstatSync(fd, { bigint: true }).ino;
    this.#endedAt = -1;
    return fd;
  }
}

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

/** The last line of a file that ends with a line break. Empty for an empty file. */
function lastLineOf(fd: number, size: number): string {
  for (let bytes = Math.min(size, tailBytes); ; bytes = Math.min(size, bytes * 2)) {
    const tail = Buffer.alloc(bytes);
    readSync(fd, tail, 0, bytes, size - bytes);
    const begin = tail.lastIndexOf(newline, bytes - 2);
    if (begin >= 0 || bytes === size) return tail.toString("utf8", begin + 1, bytes - 1);
    if (bytes >= longestLineBytes) return "";
  }
}
