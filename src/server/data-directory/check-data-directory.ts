import { existsSync, lstatSync, statSync } from "node:fs";
import { UsageError } from "../../machinery/command-line/flag.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { linkToNothing } from "../../machinery/files/make-folder.ts";
import { fileFailureReason, UnusableFile } from "../../machinery/files/unusable-file.ts";
import { storeFileIn } from "../../machinery/storage/backends/lmdb-files.ts";
import { administratorFile, storeDirectory, unfinishedRestore } from "./data-directory-places.ts";

/**
 * For a command beside a server that may run. Throws UsageError for a data directory that is not there or belongs to another user, and
 * UnusableFile where a restore is not complete.
 */
export function checkDataDirectory(directory: string): void {
  checkOwner(directory);
  refuseUnfinishedRestore(directory);
}

/** Throws UsageError for a folder that the system refuses, such as one behind links that form a loop or lead nowhere. */
export function isThere(directory: string): boolean {
  let isLink;
  try {
    if (statSync(directory, { throwIfNoEntry: false }) !== undefined) return true;
    isLink = lstatSync(directory, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw new UsageError(`--data-dir: cannot use ${directory}: ${fileFailureReason(cause)}`, { cause });
  }
  if (isLink) throw new UsageError(`--data-dir: ${linkToNothing(directory)}`);
  return false;
}

/** A file that another user makes in there could not be used by the server. Throws UsageError. */
export function checkOwner(directory: string): void {
  if (!isThere(directory))
    throw new UsageError(`--data-dir: ${directory} does not exist; name the data directory of a server`);
  const { uid } = statSync(directory);
  const user = process.getuid?.();
  if (user === undefined || uid === user) return;
  throw new UsageError(
    `--data-dir: ${directory} belongs to another user: run this as that one (sudo -u '#${uid}' signet …)`,
  );
}

/**
 * Throws UnusableFile for an empty file where a server has had a store, and for a link to a store that is not there: a server would begin
 * with nothing, not even with what was revoked. Before a server has served, a kill may have left such a file.
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

/** Where a link leads to that leads nowhere. Undefined: it is none. */
function lostTarget(path: string): string | undefined {
  try {
    return existsSync(path) ? undefined : linkTarget(path);
  } catch {
    return undefined; // who opens it says what is wrong
  }
}

function isEmptyFile(file: string): boolean {
  try {
    return statSync(file).size === 0;
  } catch {
    return false; // who opens it says what is wrong
  }
}

/** Throws UnusableFile for what a restore has not completed: it runs still, or was killed. */
export function refuseUnfinishedRestore(directory: string): void {
  if (!existsSync(unfinishedRestore(directory))) return;
  throw new UnusableFile(
    `${directory}: a restore into it is not complete; wait for it, or, if it broke off, remove the folder and restore again`,
  );
}
