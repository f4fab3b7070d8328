import { closeSync, linkSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { errorCode } from "../../api/error-code.ts";

/** Whole pages. LMDB's header and 126 readers take 8272 bytes; LMDB turns the rest into further reader slots. */
const LOCK_FILE_BYTES = 3 * 4096;
/** The unit of the block count in a file's status. */
const BLOCK_BYTES = 512;

/**
 * Creates LMDB's lock file (0600) with all its pages allocated on the disk, unless it exists. All processes map this
 * file and write to it. LMDB itself would create it with holes: on a full disk, the first write into a hole kills the
 * process with SIGBUS. Throws the system's error when the disk is full. (The store's data file is only read through its
 * map; failed writes to it are ordinary errors.)
 */
export function makeLockFile(file: string): void {
  // Create it complete or not at all: another process may open the store at the same time, and derives the number of
  // readers from the size.
  const made = `${file}.${randomBytes(6).toString("hex")}.new`;
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) return;
  const descriptor = openSync(made, "wx", 0o600);
  try {
    writeFileSync(descriptor, Buffer.alloc(LOCK_FILE_BYTES));
    linkSync(made, file);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    closeSync(descriptor);
    rmSync(made, { force: true });
  }
}

/** Removes a lock file with holes that LMDB created itself. Call it only when no process has the store open. */
export function removeSparseLockFile(file: string): void {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status !== undefined && status.blocks * BLOCK_BYTES < status.size) rmSync(file);
}
