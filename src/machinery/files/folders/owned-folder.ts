import { closeSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { parseJsonObject } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { writePrivateFile } from "../atomic-file.ts";
import { setOwnership } from "../file-ownership.ts";
import { isUnfinishedFile, removeUnfinishedFiles } from "../unfinished-files.ts";
import { openFileLock } from "../locks/file-lock.ts";
import type { FileLock } from "../locks/file-lock.ts";
import { makeFolder } from "./make-folder.ts";
import { removeFile } from "../remove-file.ts";
import { fileFailureReason, UnusableFile, asUnusableFile } from "../unusable-file.ts";
import { modeText } from "../mode-text.ts";

/** A folder that this process uses until it releases it. */
export interface OwnedFolder {
  /** Records the owner's address, for the error message of other processes that want the folder. */
  describe(address: string): void;
  release(): void;
}

/** Held by one process: the owner. */
const ownerLock = "owner.lock";
/** Held as a shared lock by the owner and each process that it has started. It protects the folder also if `owner.lock` was removed. */
const membersLock = "members.lock";
/** Says who the owner is, for error messages. It is stale after the owner was killed. */
const ownerFile = "owner.json";

/** Whether a file of a folder is one of its owner's locks or the owner's description, or a remainder of them. */
export const isOwnershipFile = (name: string): boolean =>
  [ownerLock, membersLock].includes(name.replace(/-journal$/, "")) ||
  name === ownerFile ||
  isUnfinishedFile(name, ownerFile);

/** This much space must be free at the start. A new store, keys and certificates take a third of it. */
const neededMebibytes = 1;

export interface OwnFolderOptions {
  /**
   * How long to wait for processes that still use the folder. Default 10,000: after an owner was killed, the processes that it started
   * exit by themselves within this time. Commands may take longer.
   */
  readonly waitMilliseconds?: number;
  /** Called when the folder exists, before any file is created in it and before it is flushed. Its error ends the attempt. */
  readonly beforeLock?: () => void;
}

/**
 * Creates a folder (0700) unless it exists, and takes ownership. Only one process can own it. The operating system
 * holds the lock, so a crash or SIGKILL releases it. Throws UnusableFile, with one line on what to do, when another
 * process owns the folder, other users can write to it, it is not writable, or the disk is full.
 */
export function ownFolder(
  folder: string,
  { waitMilliseconds = 10_000, beforeLock = () => {} }: OwnFolderOptions = {},
): OwnedFolder {
  let lock: FileLock | undefined;
  let membership: OwnedFolder | undefined;
  try {
    makeFolder(folder, {
      mode: 0o700,
      beforeFlush() {
        checkUnshared(folder);
        beforeLock();
      },
    });
    checkOwnershipFiles(folder);
    checkFileSystem(folder);
    lock = openFileLock(join(folder, ownerLock));
    if (!lock.lockExclusive({ waitMilliseconds: 0 })) throw inUse(folder);
    const members = openFileLock(join(folder, membersLock));
    try {
      if (!members.lockExclusive({ waitMilliseconds })) {
        throw new UnusableFile(
          `${folder}: a command, or processes of a server, still use it; wait for the command, or end them, then try again`,
        );
      }
    } finally {
      members.release();
    }
    membership = joinFolder(folder);
    removeUnfinishedFiles(folder);
    writeOwner(folder, undefined);
  } catch (error) {
    membership?.release();
    lock?.release();
    throw asUnusableFile(`${folder} cannot be used`, error);
  }
  const held = [membership, lock]; // keeps the locks reachable: a garbage-collected lock is released
  return {
    describe: (address) => writeOwner(folder, address),
    release() {
      for (const one of held) one.release();
    },
  };
}

/** Uses a folder as a process that the owner started. The next owner waits until this process releases it or exits. */
export function joinFolder(folder: string): OwnedFolder {
  const lock = openFileLock(join(folder, membersLock));
  if (!lock.lockShared()) throw inUse(folder);
  return { describe: () => {}, release: () => lock.release() };
}

/**
 * Throws UnusableFile when `ownFolder` would refuse an existing folder, except for a process that uses it. Root asks for the user to whom
 * the folder belongs. Changes nothing: a file that it makes is removed at once.
 */
export function checkOwnable(folder: string): void {
  try {
    checkUnshared(folder, { mayBeOfOthers: process.getuid?.() === 0 });
    checkOwnershipFiles(folder);
    checkFileSystem(folder);
  } catch (error) {
    throw asUnusableFile(`${folder} cannot be used`, error);
  }
}

/** Throws UnusableFile for a folder with the name of a file that `ownFolder` needs. Container engines make such folders for mounts. */
function checkOwnershipFiles(folder: string): void {
  for (const name of [ownerLock, membersLock, ownerFile]) {
    const file = join(folder, name);
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    throw new UnusableFile(`${file} is a folder where a file has to be; remove it`);
  }
}

/**
 * Throws UnusableFile for a folder that other users can write to, for one of another user unless `mayBeOfOthers`, and for a path that is not
 * a folder.
 */
export function checkUnshared(folder: string, { mayBeOfOthers = false } = {}): void {
  const status = statSync(folder);
  if (!status.isDirectory()) throw new UnusableFile(`${folder} is not a folder; name another`);
  const { uid, mode } = status;
  const user = process.getuid?.();
  if (user === undefined) return; // Windows has no file modes
  if (uid !== user && !mayBeOfOthers) {
    throw new UnusableFile(`${folder} belongs to another user (uid ${uid}); chown it to uid ${user}, or name another`);
  }
  if ((mode & 0o022) !== 0) {
    throw new UnusableFile(
      `${folder}: other users can write to it (mode ${modeText(mode)}); chmod 700 it, or name another`,
    );
  }
}

/**
 * Throws a one-line error for a full disk, a quota, a read-only file system or one without modes, which would otherwise fail in the middle
 * of the start.
 */
function checkFileSystem(folder: string): void {
  const ballast = join(folder, `room.${randomBytes(6).toString("hex")}.new`);
  const descriptor = openSync(ballast, "wx", 0o600);
  try {
    try {
      setOwnership(descriptor, { mode: 0o600, isOwnershipKept: true });
    } finally {
      removeFile(ballast); // remove it while it is open: closing frees the space, even after a kill
    }
    fill(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function fill(descriptor: number): void {
  const block = Buffer.alloc(2 ** 20, 0xff);
  try {
    for (let written = 0; written < neededMebibytes * block.length;) written += writeSync(descriptor, block);
  } catch (cause) {
    throw new Error(`${neededMebibytes} MiB of free space is needed to start: ${fileFailureReason(cause)}`, { cause });
  }
}

const writeOwner = (folder: string, address: string | undefined): void =>
  writePrivateFile(join(folder, ownerFile), `${JSON.stringify({ pid: process.pid, address })}\n`);

/** The process id and the address of the owner, as it has written them. Undefined if it has just started, or its disk is full. */
export function ownerOf(folder: string): Readonly<JsonObject> | undefined {
  try {
    return parseJsonObject(readFileSync(join(folder, ownerFile), "utf8"));
  } catch {
    return undefined;
  }
}

function inUse(folder: string): UnusableFile {
  const { pid, address } = ownerOf(folder) ?? {};
  let owner = typeof pid === "number" ? `the process ${pid}` : "another process";
  if (typeof address === "string") owner += ` at ${JSON.stringify(address)}`;
  return new UnusableFile(`${folder} is in use by ${owner}; end that one, or name another folder`);
}
