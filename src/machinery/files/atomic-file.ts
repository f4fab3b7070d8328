import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { errorCode } from "../api/thrown-error.ts";
import { removeFile } from "./remove-file.ts";
import { removeIfPossible } from "./remove-if-possible.ts";
import { linkFailureReason, UnusableFile, asUnusableFile } from "./unusable-file.ts";
import { unfinishedPath } from "./unfinished-files.ts";
import type { FileOwnership } from "./file-ownership.ts";
import { setOwnership } from "./file-ownership.ts";

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
  const temporary = unfinishedPath(file);
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

/**
 * Throws UnusableFile when a name is, or links to, a folder, a pipe, a device or a socket: a rename would remove it.
 */
export function checkReplaceable(file: string): void {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined || status.isFile()) return;
  const what = status.isDirectory() ? "a folder" : "a pipe, a device or a socket";
  throw new UnusableFile(`${file} is ${what}; name a file`);
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
