import { existsSync, mkdirSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { generatedAuthoritiesFolder } from "../features/certificates/authorities/generated-authorities.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { ownFolder, removeUnfinishedFiles } from "../machinery/files/owned-folder.ts";
import type { OwnedFolder, OwnFolderOptions } from "../machinery/files/owned-folder.ts";
import { UnusableFile } from "../machinery/files/unusable-file.ts";
import { removeUnsafeLock, storeFileIn } from "../machinery/storage/backends/lmdb-files.ts";

/** Locks the data directory for this process, removes what kills left in it, and makes its store safe to open. Throws UsageError. */
export function lockDataDirectory(directory: string): OwnedFolder {
  const folder = ownDataDirectory(directory);
  for (const part of [join(directory, generatedAuthoritiesFolder), storeDirectory(directory)]) {
    if (existsSync(part)) removeUnfinishedFiles(part);
  }
  removeUnsafeLock(storeDirectory(directory));
  return folder;
}

/**
 * Locks the data directory for a restore, which removes its mark, the folder `unfinishedRestore`, when it is complete. The mark comes
 * first: after a kill at any later moment, no server takes the folder for a new one. Throws UsageError, and removes what it made.
 */
export function lockForRestore(directory: string): OwnedFolder {
  const mark = unfinishedRestore(directory);
  const made = existsSync(directory) ? [] : [directory];
  try {
    return ownDataDirectory(directory, {
      beforeLock() {
        mkdirSync(mark, { mode: 0o700 });
        made.unshift(mark);
      },
    });
  } catch (error) {
    made.forEach(removeIfEmpty);
    throw error;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is not there, or another process has made something in it.
  }
}

function ownDataDirectory(directory: string, options: OwnFolderOptions = {}): OwnedFolder {
  try {
    refuseUnfinishedRestore(directory);
    refuseEmptiedStore(directory);
    return ownFolder(directory, options);
  } catch (error) {
    throw error instanceof UnusableFile ? new UsageError(`--data-dir: ${error.message}`, { cause: error }) : error;
  }
}

/** The store's folder in a data directory. */
export const storeDirectory = (dataDirectory: string): string => join(dataDirectory, "store");

/** The administrator's certificate and key. A server makes it when it begins to serve. */
export const administratorFile = (dataDirectory: string): string => join(dataDirectory, "admin.pem");

/**
 * Throws UnusableFile for an empty file where a server has had a store: it would begin with nothing, not even with what was revoked.
 * Before a server has served, a kill may have left such a file.
 */
export function refuseEmptiedStore(directory: string): void {
  const store = storeDirectory(directory);
  const file = storeFileIn(store);
  if (!existsSync(administratorFile(directory)) || !isEmptyFile(file)) return;
  throw new UnusableFile(
    `${file} is empty, and a server has had objects there: restore a backup (signet restore), or, to begin with nothing, remove ${store}`,
  );
}

function isEmptyFile(file: string): boolean {
  try {
    return statSync(file).size === 0;
  } catch {
    return false; // who opens it says what is wrong
  }
}

/** What a restore has made so far. It is there only until the restore is complete. */
export const unfinishedRestore = (dataDirectory: string): string => join(dataDirectory, "unfinished-restore");

/** Throws UnusableFile for what a restore has not completed: it runs still, or was killed. */
export function refuseUnfinishedRestore(directory: string): void {
  if (!existsSync(unfinishedRestore(directory))) return;
  throw new UnusableFile(
    `${directory}: a restore into it is not complete; wait for it, or, if it broke off, remove the folder and restore again`,
  );
}
