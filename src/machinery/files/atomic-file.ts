import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../api/thrown-error.ts";
import { modeText } from "./mode-text.ts";
import { removeFile } from "./remove-file.ts";
import { removeIfPossible } from "./remove-if-possible.ts";
import { linkFailureReason, UnusableFile, asUnusableFile } from "./unusable-file.ts";

/**
 * Writes a private file (0600) unless its name exists. Returns whether it was written: of several processes at the same time, only one
 * writes it. Throws UnusableFile as `writeFileAtomically`.
 */
export function writeNewPrivateFile(file: string, contents: string | Uint8Array): boolean {
  try {
    writeReplacement(file, { contents, mode: 0o600, commit: (replacement) => replacement.commitIfAbsent() });
    return true;
  } catch (error) {
    if (error instanceof UnusableFile && errorCode(error.cause) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Writes a whole file. Readers see the old contents or the new ones, never a part, also after a crash at any point. It writes a new file in
 * the same folder, flushes it, renames it to the name of the old file and flushes the folder. So mode, owner and hard links of an existing
 * file do not matter, because the file is replaced. A symbolic link is replaced too, and its target stays unchanged. Throws UnusableFile,
 * which names the file, when it cannot be written, or when the name is, or links to, something other than a file.
 */
export const writeFileAtomically = (
  file: string,
  written: FileOwnership & {
    readonly contents: string | Uint8Array;
    /** The file's name for error messages, when `file` is a name that is new at each try. */
    readonly knownAs?: string;
  },
): void => writeReplacement(file, { ...written, commit: (replacement) => replacement.commit() });

interface WrittenReplacement extends FileOwnership {
  readonly contents: string | Uint8Array;
  readonly knownAs?: string;
  readonly commit: (replacement: Replacement) => void;
}

function writeReplacement(file: string, { contents, knownAs = file, commit, ...ownership }: WrittenReplacement): void {
  try {
    const replacement = openReplacement(file, ownership);
    try {
      replacement.write(contents);
    } catch (error) {
      replacement.discard();
      throw error;
    }
    commit(replacement);
  } catch (error) {
    throw asUnusableFile(`cannot write ${knownAs}`, error);
  }
}

/** Mode, owner and group of a file. Default: the user and the group of the process. */
export interface FileOwnership {
  readonly mode: number;
  /** Whether to fail if the file system gives the file another mode or owner, as file systems without modes and owners do. */
  readonly isOwnershipKept?: boolean;
  readonly uid?: number;
  readonly gid?: number;
}

/** A file that is being written. It has a temporary name until it is complete. */
interface Replacement {
  /** The path of the file until it is complete. */
  readonly temporary: string;
  write(contents: string | Uint8Array): void;
  /** Replaces the old file by the new one. Throws the system's error, and then keeps the old file. */
  commit(): void;
  /** Gives the new file its name. Throws the system's error, EEXIST if the name exists. */
  commitIfAbsent(): void;
  /** Removes what was written so far, if the system lets it. */
  discard(): void;
}

/** Begins to write a file in parts, with the promises of `writeFileAtomically`. End it with `commit` or `discard`. */
export function openReplacement(file: string, ownership: FileOwnership): Replacement {
  checkReplaceable(file);
  const temporary = join(
    dirname(file),
    `${basename(file).slice(0, longestPrefix)}.${randomBytes(6).toString("hex")}.new`,
  );
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const descriptor = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    setOwnership(descriptor, ownership);
  } catch (error) {
    closeSync(descriptor);
    removeIfPossible(temporary);
    throw error;
  }
  const commit = (put: () => void): void => {
    try {
      try {
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      put();
    } catch (error) {
      removeIfPossible(temporary);
      throw error;
    }
    flushFolder(dirname(file));
  };
  return {
    temporary,
    write: (contents) => writeFileSync(descriptor, contents),
    commit: () => commit(() => renameSync(temporary, file)),
    commitIfAbsent: () => commit(() => moveIfAbsent(temporary, file)),
    discard() {
      closeSync(descriptor);
      removeIfPossible(temporary);
    },
  };
}

/** Moves a file to a name that must not exist. `rename` would replace a file that another process has just created. */
function moveIfAbsent(from: string, to: string): void {
  try {
    linkSync(from, to);
    removeFile(from);
  } catch (error) {
    // Some file systems have no hard links, so only a rename is left.
    if (!["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"].includes(errorCode(error))) throw error;
    renameSync(from, to);
  }
}

/** Sets mode, owner and group of an open file. Throws the system's error, and with `isOwnershipKept` an Error if they were not kept. */
export function setOwnership(descriptor: number, ownership: FileOwnership): void {
  const { mode, isOwnershipKept = false, uid, gid } = ownership;
  try {
    if (uid !== undefined || gid !== undefined) fchownSync(descriptor, uid ?? -1, gid ?? -1);
  } catch (cause) {
    if (errorCode(cause) !== "EPERM") throw cause;
    throw new Error("this user may not give it to that owner or group; run as root, or name another owner and group", {
      cause,
    });
  }
  // The file was created with 0600, from which the umask may have removed bits.
  if (mode !== 0o600 || (fstatSync(descriptor).mode & mode) !== mode) fchmodSync(descriptor, mode);
  if (!isOwnershipKept) return;
  const fault = ownershipFault(fstatSync(descriptor), ownership);
  if (fault !== undefined) throw new Error(fault);
}

/**
 * How a file system without modes or owners, such as FAT, has changed the ownership of a file. Additional rights to execute do not count:
 * such a file system gives them to everyone who may read. Undefined: owner, group and mode are as wanted.
 */
export function ownershipFault(found: Stats, { mode, uid, gid = found.gid }: FileOwnership): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined; // Windows has no file modes
  const owner = uid ?? user;
  if (found.uid !== owner || found.gid !== gid) {
    const given = `its file system gives it to uid ${found.uid} and gid ${found.gid}, not to ${owner} and ${gid}`;
    return `${given}; name a place on another, or mount it for that user`;
  }
  const executable = (mode & 0o444) >> 2;
  if (((found.mode ^ mode) & 0o7777 & ~executable) === 0) return undefined;
  const made = `its file system makes the mode ${modeText(found.mode)} of ${modeText(mode)}`;
  return `${made}; name a place on another, or mount it with another umask`;
}

/** In characters, each of which takes up to four bytes: a name may have 255 bytes. */
const longestPrefix = 50;

/**
 * Throws UnusableFile when a name is, or links to, a folder, a pipe, a device or a socket: a rename would remove it.
 */
export function checkReplaceable(file: string): void {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined || status.isFile()) return;
  const what = status.isDirectory() ? "a folder" : "a pipe, a device or a socket";
  throw new UnusableFile(`${file} is ${what}; name a file`);
}

/** The final name of a file that is being written. For any other file, its own name. */
const finishedName = (name: string): string => name.replace(/\.[0-9a-f]{12}\.new$/, "");

/** Whether a name is the temporary name of a file that is being written, or was when its process was killed. `finished`: its final name. */
export const isUnfinishedFile = (name: string, finished = finishedName(name)): boolean =>
  name !== finished && finishedName(name) === finished;

/**
 * Removes the temporary files that killed processes have left of a file, if they were not changed since `untouchedSince` (milliseconds
 * since the epoch). Without this time, no other process may write the file now.
 */
export function removeUnfinished(
  file: string,
  { untouchedSince = Infinity }: { readonly untouchedSince?: number } = {},
): void {
  const finished = basename(file).slice(0, longestPrefix);
  for (const name of readdirSync(dirname(file))) {
    if (!isUnfinishedFile(name, finished)) continue;
    const path = join(dirname(file), name);
    const { mtimeMs = 0 } = lstatSync(path, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs <= untouchedSince) removeFile(path);
  }
}

/** The longest write is a backup, which writes all the time, or reads for minutes what it has written. */
const abandonedMilliseconds = 60 * 60_000;

/**
 * Removes the old temporary files that killed processes have left of a file, which other processes may write now. They may contain keys,
 * and fill the disk. Never throws, because the file can be written also in a folder that cannot be listed.
 */
export function removeAbandoned(file: string, now: number): void {
  try {
    removeUnfinished(file, { untouchedSince: now - abandonedMilliseconds });
  } catch {
    // The old files stay.
  }
}

/** Makes renames in a folder survive a power cut, if its file system can do that for folders. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } catch (error) {
    // Shared folders of virtual machines, and SMB of older kernels, fail in this way, but the rename has succeeded.
    if (errorCode(error) !== "EINVAL") throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** For files that contain keys: only the owner may read them. */
export const writePrivateFile = (file: string, contents: string | Uint8Array): void =>
  writeFileAtomically(file, { contents, mode: 0o600 });

export const writePublicFile = (file: string, contents: string | Uint8Array): void =>
  writeFileAtomically(file, { contents, mode: 0o644 });

/**
 * Changes the target of a symbolic link. A reader, or a crash at any point, finds either the old or the new target. Throws
 * UnusableFile, which names the link.
 */
export function replaceLink(link: string, target: string): void {
  const temporary = `${link}.${randomBytes(6).toString("hex")}.new`;
  try {
    symlinkSync(target, temporary);
    renameSync(temporary, link);
    flushFolder(dirname(link));
  } catch (error) {
    removeIfPossible(temporary);
    throw new UnusableFile(`cannot write ${link}: ${linkFailureReason(error)}`, { cause: error });
  }
}
