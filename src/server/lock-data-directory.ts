import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { generatedAuthoritiesFolder } from "../features/certificates/authorities/generated-authorities.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { ownFolder, removeUnfinishedFiles } from "../machinery/files/owned-folder.ts";
import type { OwnedFolder } from "../machinery/files/owned-folder.ts";
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

function ownDataDirectory(directory: string): OwnedFolder {
  try {
    refuseUnfinishedRestore(directory);
    refuseEmptiedStore(directory);
    return ownFolder(directory);
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
