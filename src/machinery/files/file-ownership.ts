import { fchmodSync, fchownSync, fstatSync } from "node:fs";
import type { Stats } from "node:fs";
import { errorCode } from "../api/thrown-error.ts";
import { modeText } from "./mode-text.ts";

/** Mode, owner and group of a file. Default: the user and the group of the process. */
export interface FileOwnership {
  readonly mode: number;
  /** Whether to fail if the file system gives the file another mode or owner, as file systems without modes and owners do. */
  readonly isOwnershipKept?: boolean;
  readonly uid?: number;
  readonly gid?: number;
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
