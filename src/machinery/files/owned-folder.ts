import { closeSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { writePrivateFile } from "./atomic-file.ts";
import { FileLock } from "./file-lock.ts";
import { makeFolder } from "./make-folder.ts";
import { fileFailureReason, UnusableFile } from "./unusable-file.ts";

/** A folder that this process uses, until it releases it. */
export interface OwnedFolder {
  /** Tells whoever wants the folder too where its owner can be reached. */
  describe(address: string): void;
  release(): void;
}

/** One process holds it: the owner. */
const ownerLock = "owner.lock";
/** Every process that the owner has started holds it together with the others. */
const membersLock = "members.lock";
/** Who the owner is, for people; stale after a kill. */
const ownerFile = "owner.json";

/** So much must be free at the start: a new store, keys and certificates take a third of it. */
const neededMebibytes = 1;
/** The processes of an owner that was killed end by themselves, soon after it. */
const membersEndMilliseconds = 10_000;

/**
 * Makes a folder (0700) unless it is there, and takes it: one owner at a time has it, and a crash or SIGKILL ends that too,
 * since the system holds the lock. Throws UnusableFile, with one line on what to do, when another process has it, when
 * other users could write to it, when it can't be written, or when its disk is full.
 */
export function ownFolder(folder: string): OwnedFolder {
  let lock: FileLock | undefined;
  try {
    checkFolder(folder);
    checkRoom(folder);
    lock = new FileLock(join(folder, ownerLock));
    if (!lock.takeAlone({ waitMilliseconds: 0 })) throw inUse(folder);
    const members = new FileLock(join(folder, membersLock));
    try {
      if (!members.takeAlone({ waitMilliseconds: membersEndMilliseconds })) {
        throw new UnusableFile(
          `${folder}: processes of an owner that was killed still use it; end them, then try again`,
        );
      }
    } finally {
      members.release();
    }
    removeUnfinishedFiles(folder);
    writeOwner(folder, undefined);
  } catch (error) {
    lock?.release();
    throw withReason(folder, error);
  }
  const held = lock; // for as long as this object lives: a lock that is collected as garbage is given up
  return { describe: (address) => writeOwner(folder, address), release: () => held.release() };
}

/** Uses a folder as a process that its owner has started: the next owner waits until this one has released it, or ended. */
export function joinFolder(folder: string): OwnedFolder {
  const lock = new FileLock(join(folder, membersLock));
  if (!lock.takeTogether()) throw inUse(folder);
  return { describe: () => {}, release: () => lock.release() };
}

function checkFolder(folder: string): void {
  makeFolder(folder, { mode: 0o700 });
  const status = statSync(folder);
  if (!status.isDirectory()) throw new UnusableFile(`${folder} is no folder; name another`);
  const { uid, mode } = status;
  const user = process.getuid?.();
  if (user === undefined) return; // Windows: no modes
  if (uid !== user) {
    throw new UnusableFile(`${folder} belongs to another user (uid ${uid}); chown it to uid ${user}, or name another`);
  }
  if ((mode & 0o022) !== 0) {
    const digits = (mode & 0o7777).toString(8).padStart(4, "0");
    throw new UnusableFile(`${folder}: other users can write to it (mode ${digits}); chmod 700 it, or name another`);
  }
}

/** A full disk, a quota, a read-only file system: known now, in one line, and not in the middle of the start. */
function checkRoom(folder: string): void {
  const ballast = join(folder, `room.${randomBytes(6).toString("hex")}.new`);
  const descriptor = openSync(ballast, "wx", 0o600);
  try {
    rmSync(ballast); // at once: its pages are free again as soon as it is closed, also by a kill
    const block = Buffer.alloc(2 ** 20, 0xff);
    for (let written = 0; written < neededMebibytes * block.length;) written += writeSync(descriptor, block);
  } catch (cause) {
    throw new UnusableFile(
      `${folder} cannot be used: ${neededMebibytes} MiB of free space is needed to start: ${fileFailureReason(cause)}`,
      { cause },
    );
  } finally {
    closeSync(descriptor);
  }
}

/** What a kill has left in the middle of `writeFileAtomically`: there may be keys in it. */
function removeUnfinishedFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (/\.[0-9a-f]{12}\.new$/.test(name)) rmSync(join(folder, name), { force: true });
  }
}

const writeOwner = (folder: string, address: string | undefined): void =>
  writePrivateFile(join(folder, ownerFile), `${JSON.stringify({ pid: process.pid, address })}\n`);

function inUse(folder: string): UnusableFile {
  let owner = "another process";
  try {
    const { pid, address } = JSON.parse(readFileSync(join(folder, ownerFile), "utf8")) as Record<string, unknown>; // writeOwner's
    if (typeof pid === "number") owner = `the process ${pid}`;
    if (typeof address === "string") owner += ` at ${JSON.stringify(address)}`;
  } catch {
    // It has just started, or its disk is full: the refusal stands without its name.
  }
  return new UnusableFile(`${folder} is in use by ${owner}; end that one, or name another folder`);
}

const withReason = (folder: string, error: unknown): UnusableFile =>
  error instanceof UnusableFile
    ? error
    : new UnusableFile(`${folder} cannot be used: ${fileFailureReason(error)}`, { cause: error });
