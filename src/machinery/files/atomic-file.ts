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
import { removeFile } from "./remove-file.ts";
import { removeIfPossible } from "./remove-if-possible.ts";
import { fileFailureReason, linkFailureReason, UnusableFile } from "./unusable-file.ts";

/**
 * Writes a private file (0600) unless something has the name. Returns whether it did: of several processes at once, one does. Throws
 * UnusableFile as `writeFileAtomically`.
 */
export function writeNewPrivateFile(file: string, contents: string | Uint8Array): boolean {
  try {
    writeReplacement(file, { contents, mode: 0o600, commit: (replacement) => replacement.commitUnlessThere() });
    return true;
  } catch (error) {
    if (error instanceof UnusableFile && errorCode(error.cause) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Writes a whole file. A reader, or a crash at any point, sees the old contents or the new ones, never a part. It
 * writes a new file in the same folder, flushes it, renames it over the old one and flushes the folder. So mode, owner
 * and hard links of an existing file do not matter: it is replaced, not written to. A symbolic link is replaced too,
 * and its target stays unchanged. Throws UnusableFile, which names the file, when it cannot be written, or the name is or
 * links to something other than a file.
 */
export const writeFileAtomically = (
  file: string,
  written: FileOwnership & {
    readonly contents: string | Uint8Array;
    /** The name of the file that people know, for the failure: the file's own may be another one at each try. */
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
    if (error instanceof UnusableFile) throw error;
    throw new UnusableFile(`cannot write ${knownAs}: ${fileFailureReason(error)}`, { cause: error });
  }
}

/** Who may use a file. Left out: the process's own user and group. */
export interface FileOwnership {
  readonly mode: number;
  /** Whether the file is not written at all where its file system gives it another mode or owner, as one without them. */
  readonly isOwnershipKept?: boolean;
  readonly uid?: number;
  readonly gid?: number;
}

/** A file that is being written, under another name until it is complete. */
export interface Replacement {
  /** The path of the file until it is complete. */
  readonly temporary: string;
  write(contents: string | Uint8Array): void;
  /** Puts the new file in the place of the old one. Throws the system's error; then the old file is there still. */
  commit(): void;
  /** Puts the new file there unless something has the name. Throws the system's error, EEXIST then. */
  commitUnlessThere(): void;
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
    giveTo(descriptor, ownership);
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
    commitUnlessThere: () => commit(() => moveUnlessThere(temporary, file)),
    discard() {
      closeSync(descriptor);
      removeIfPossible(temporary);
    },
  };
}

/** A rename would replace a file that another process has made meanwhile. */
function moveUnlessThere(from: string, to: string): void {
  try {
    linkSync(from, to);
    removeFile(from);
  } catch (error) {
    // Some file systems have no hard links.
    if (!["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"].includes(errorCode(error))) throw error;
    renameSync(from, to);
  }
}

/** Lets those use an open file who may. Throws the system's error, and Error where `isOwnershipKept` says so. */
export function giveTo(descriptor: number, ownership: FileOwnership): void {
  const { mode, isOwnershipKept = false, uid, gid } = ownership;
  try {
    if (uid !== undefined || gid !== undefined) fchownSync(descriptor, uid ?? -1, gid ?? -1);
  } catch (cause) {
    if (errorCode(cause) !== "EPERM") throw cause;
    throw new Error("this user may not give it to that owner or group; run as root, or name another owner and group", {
      cause,
    });
  }
  // It was made with 0600, less what the umask takes.
  if (mode !== 0o600 || (fstatSync(descriptor).mode & mode) !== mode) fchmodSync(descriptor, mode);
  if (!isOwnershipKept) return;
  const fault = ownershipFault(fstatSync(descriptor), ownership);
  if (fault !== undefined) throw new Error(fault);
}

/**
 * What a file system without modes or owners, such as FAT, has made of the ownership of a file. Who may read a file may
 * execute it there, which means nothing. Undefined: those may read and write the file who may.
 */
export function ownershipFault(found: Stats, { mode, uid, gid = found.gid }: FileOwnership): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined; // Windows has no file modes
  const owner = uid ?? user;
  if (found.uid !== owner || found.gid !== gid) {
    const given = `its file system gives it to uid ${found.uid} and gid ${found.gid}, not to ${owner} and ${gid}`;
    return `${given}; name a place on another, or mount it for that user`;
  }
  const digits = (one: number): string => (one & 0o7777).toString(8).padStart(4, "0");
  const executable = (mode & 0o444) >> 2;
  if (((found.mode ^ mode) & 0o7777 & ~executable) === 0) return undefined;
  const made = `its file system makes the mode ${digits(found.mode)} of ${digits(mode)}`;
  return `${made}; name a place on another, or mount it with another umask`;
}

/** A name may have 255 bytes, and a character takes up to four. */
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

/** The name that a file which is being written will have. Of any other file, its own. */
const finishedName = (name: string): string => name.replace(/\.[0-9a-f]{12}\.new$/, "");

/** Whether a file is one that is being written, or that a kill has left half-written; of `finished`, where that is given. */
export const isUnfinishedFile = (name: string, finished = finishedName(name)): boolean =>
  name !== finished && finishedName(name) === finished;

/**
 * Removes what kills left of earlier writes of a file, if nothing was written to it since `untouchedSince` (milliseconds since the
 * epoch). Without that time, nothing else may write the file now.
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

/** What takes longest is a backup: it writes all the time, or reads what it has written for minutes. */
const abandonedMilliseconds = 60 * 60_000;

/**
 * Removes what kills left of earlier writes of a file that other processes may write now: it may hold keys, and fills the disk. Throws
 * nothing: a folder that cannot be listed may take the file all the same.
 */
export function removeAbandoned(file: string, now: number): void {
  try {
    removeUnfinished(file, { untouchedSince: now - abandonedMilliseconds });
  } catch {
    // It stays.
  }
}

/** Makes renames in a folder survive a power cut, if its file system can do that for folders. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } catch (error) {
    // So answer shared folders of virtual machines and SMB of older kernels, where the rename itself has succeeded.
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
