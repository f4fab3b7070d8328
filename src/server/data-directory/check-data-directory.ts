import { existsSync, lstatSync, statSync } from "node:fs";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { linkToNothing } from "../../machinery/files/folders/make-folder.ts";
import { fileFailureReason, UnusableFile } from "../../machinery/files/unusable-file.ts";
import { storeFileIn } from "../../machinery/storage/backends/lmdb-files.ts";
import { administratorFile, storeDirectory, unfinishedRestore } from "./data-directory-places.ts";

/**
 * For a command on the machine of a server that may run. Throws UsageError for a data directory that does not exist or belongs to another
 * user, and UnusableFile when a restore is not complete.
 */
export function checkDataDirectory(directory: string): void {
  checkOwner(directory);
  refuseUnfinishedRestore(directory);
}

/**
 * Whether the folder exists. Throws UsageError for a file, and when the system refuses the path, for example because its links form a loop
 * or lead nowhere.
 */
export function directoryExists(directory: string): boolean {
  let status;
  let isLink;
  try {
    status = statSync(directory, { throwIfNoEntry: false });
    isLink = lstatSync(directory, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw new UsageError(`--data-dir: cannot use ${directory}: ${fileFailureReason(cause)}`, { cause });
  }
  if (status !== undefined && !status.isDirectory())
    throw new UsageError(`--data-dir: ${directory} is not a folder; name another`);
  if (status === undefined && isLink) throw new UsageError(`--data-dir: ${linkToNothing(directory)}`);
  return status !== undefined;
}

/** Throws UsageError for a data directory of another user: the server could not use files that this user makes there. */
export function checkOwner(directory: string): void {
  if (!directoryExists(directory))
    throw new UsageError(`--data-dir: ${directory} does not exist; name the data directory of a server`);
  const { uid } = statSync(directory);
  const user = process.getuid?.();
  if (user === undefined || uid === user) return;
  throw new UsageError(
    `--data-dir: ${directory} belongs to another user: run this as that one (sudo -u '#${uid}' signet …)`,
  );
}

/**
 * Throws UnusableFile for an empty file in place of a store that a server has used, and for a link to a missing store. With these, a server
 * would begin with nothing, and even forget what was revoked. Before a server has served, an empty file may be what a kill left.
 */
export function refuseLostStore(directory: string): void {
  const store = storeDirectory(directory);
  const target = lostTarget(store);
  if (target !== undefined) {
    throw new UnusableFile(
      `${store} is a link to ${target}, which is not there: mount its disk, or, to begin with nothing, remove the link`,
    );
  }
  const file = storeFileIn(store);
  if (!existsSync(administratorFile(directory)) || !isEmptyFile(file)) return;
  throw new UnusableFile(
    `${file} is empty, and a server has had objects there: restore a backup (signet restore), or, to begin with nothing, remove ${store}`,
  );
}

/** The target of a link that leads nowhere. Undefined: the path is no such link. */
function lostTarget(path: string): string | undefined {
  try {
    return existsSync(path) ? undefined : linkTarget(path);
  } catch {
    return undefined; // the code that opens it says what is wrong
  }
}

function isEmptyFile(file: string): boolean {
  try {
    return statSync(file).size === 0;
  } catch {
    return false; // the code that opens it says what is wrong
  }
}

/** Throws UnusableFile when a restore is not complete: it still runs, or was killed. */
export function refuseUnfinishedRestore(directory: string): void {
  if (!existsSync(unfinishedRestore(directory))) return;
  throw new UnusableFile(
    `${directory}: a restore into it is not complete; wait for it, or, if it broke off, remove the folder and restore again`,
  );
}
