import { closeSync, fstatSync, linkSync, mkdirSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { randomBytes } from "node:crypto";
import { errorCode } from "../../api/thrown-error.ts";
import { flushFolder } from "../../files/atomic-file.ts";
import { isWholeLmdbFile, openedFile } from "./is-whole-lmdb-file.ts";

const fileName = "store.mdb";

export const storeFileIn = (directory: string): string => join(directory, fileName);
const lockFileIn = (directory: string): string => join(directory, `${fileName}-lock`);
/** See OpeningLock. */
export const openingLockIn = (directory: string): string => join(directory, "opening.lock");

/** All files that a process has open while it uses the store. */
export const storeFilesIn = (directory: string): string[] => [
  storeFileIn(directory),
  lockFileIn(directory),
  openingLockIn(directory),
];

/** The size of a store's file; undefined when there is none. */
export const storeBytes = (directory: string): number | undefined =>
  statSync(storeFileIn(directory), { throwIfNoEntry: false })?.size;

/**
 * Creates the store's folder (0700) unless it exists, but not its parent: Node.js's own `recursive` loops forever where the system
 * denies that the parent folder exists.
 */
export function makeStoreFolder(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Removes a lock file with holes, which LMDB itself has created (see `makeLockFile`). Call it only when no process has the store open. */
export function removeUnsafeLock(directory: string): void {
  const file = lockFileIn(directory);
  const status = statSync(file, { throwIfNoEntry: false });
  if (status !== undefined && status.blocks * blockBytes < status.size) rmSync(file);
}

/**
 * Creates the files that LMDB opens (0600) unless they exist. Throws when the store's file is damaged, when the disk is full, and when
 * a file cannot be opened: if LMDB failed to open a file, the process would end with SIGSEGV. Call it only while this process does not
 * have the store open, because LMDB would lose its locks.
 */
export function makeStoreFiles(directory: string): void {
  const [store, lock] = [storeFileIn(directory), lockFileIn(directory)];
  const opened: number[] = [];
  const open = (file: string, flags: "a+" | "r+"): number => {
    const descriptor = openSync(file, flags, 0o600);
    opened.push(descriptor);
    if (!fstatSync(descriptor).isFile()) throw new Error(`${file} is no file; end what uses it, and remove it`);
    return descriptor;
  };
  try {
    const descriptor = open(store, "a+");
    checkStoreFile(descriptor, store);
    makeLockFile(lock);
    // LMDB flushes what is in a file. By fsync(2), a power cut may still leave a folder without a file, or without the folder, that is new.
    if (fstatSync(descriptor).size === 0) for (const folder of [directory, dirname(directory)]) flushFolder(folder);
    open(lock, "r+");
    // LMDB opens the store's file twice, so there must be a third descriptor.
    open(store, "r+");
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/**
 * Throws when the file belongs to another program or is truncated: LMDB reads it through a memory map, and a bad file would kill
 * the process with SIGSEGV or SIGBUS.
 */
function checkStoreFile(descriptor: number, path: string): void {
  const file = openedFile(descriptor);
  if (file.bytes() > 0 && !isWholeLmdbFile(file)) {
    throw new Error(`${path} is damaged, or is not a Signet store; restore a backup (signet restore)`);
  }
}

/** Whole pages. LMDB's header and 126 readers take 8272 bytes; LMDB turns the rest into further reader slots. */
const lockFileBytes = 3 * 4096;
/** The unit of the block count in a file's status. */
const blockBytes = 512;

/**
 * Creates LMDB's lock file (0600) with all its pages allocated on the disk, unless it exists. All processes map this
 * file and write to it. LMDB itself would create it with holes: on a full disk, the first write into a hole kills the
 * process with SIGBUS. Throws the system's error when the disk is full. (The store's data file is only read through its
 * map; failed writes to it are ordinary errors.)
 */
function makeLockFile(file: string): void {
  // Create it complete or not at all: another process may open the store at the same time, and derives the number of
  // readers from the size.
  const made = `${file}.${randomBytes(6).toString("hex")}.new`;
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) return;
  const descriptor = openSync(made, "wx", 0o600);
  try {
    writeFileSync(descriptor, Buffer.alloc(lockFileBytes));
    linkSync(made, file);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    closeSync(descriptor);
    rmSync(made, { force: true });
  }
}
