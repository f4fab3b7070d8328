import { closeSync, linkSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";

/** Whole pages: LMDB's header and its 126 readers take 8272 bytes, and it makes readers of what is left. */
const LOCK_FILE_BYTES = 3 * 4096;
/** Of what a file's status counts blocks in. */
const BLOCK_BYTES = 512;

/**
 * Makes LMDB's lock file (0600), unless it is there, with each page in its place on the disk. All processes map the file and
 * write to it: LMDB makes it with holes, and on a full disk the first write into a hole ends the process with SIGBUS.
 * Throws the system's error when there is no room. (The store's own file is only read through its map; writes to it fail
 * in order.)
 */
export function makeLockFile(file: string): void {
  // Whole or not at all: another process may be opening the store too, and the size tells it how many readers there can be.
  const made = `${file}.${randomBytes(6).toString("hex")}.new`;
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) return;
  const descriptor = openSync(made, "wx", 0o600);
  try {
    writeFileSync(descriptor, Buffer.alloc(LOCK_FILE_BYTES));
    linkSync(made, file);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    closeSync(descriptor);
    rmSync(made, { force: true });
  }
}

/** Removes a lock file with holes, which LMDB has made by itself. Only for who knows that no process has the store open. */
export function removeSparseLockFile(file: string): void {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status !== undefined && status.blocks * BLOCK_BYTES < status.size) rmSync(file);
}

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
