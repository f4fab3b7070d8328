import { existsSync } from "node:fs";
import { join } from "node:path";
import { generatedAuthoritiesFolder } from "../features/certificates/authorities/generated-authorities.ts";
import { ownFolder, removeUnfinishedFiles } from "../machinery/files/owned-folder.ts";
import type { OwnedFolder } from "../machinery/files/owned-folder.ts";
import { UnusableFile } from "../machinery/files/unusable-file.ts";
import { removeUnsafeLock } from "../machinery/storage/backends/lmdb-files.ts";

/** Locks the data directory for this process, removes what kills left in it, and makes its store safe to open. Throws UnusableFile. */
export function lockDataDirectory(directory: string): OwnedFolder {
  refuseUnfinishedRestore(directory);
  const folder = ownFolder(directory);
  for (const part of [join(directory, generatedAuthoritiesFolder), storeDirectory(directory)]) {
    if (existsSync(part)) removeUnfinishedFiles(part);
  }
  removeUnsafeLock(storeDirectory(directory));
  return folder;
}

/** The store's folder in a data directory. */
export const storeDirectory = (dataDirectory: string): string => join(dataDirectory, "store");

/** What a restore has made so far. It is there only until the restore is complete. */
export const unfinishedRestore = (dataDirectory: string): string => join(dataDirectory, "unfinished-restore");

/** Throws UnusableFile for what a restore has not completed: it runs still, or was killed. */
export function refuseUnfinishedRestore(directory: string): void {
  if (!existsSync(unfinishedRestore(directory))) return;
  throw new UnusableFile(
    `${directory}: a restore into it is not complete; wait for it, or, if it broke off, remove the folder and restore again`,
  );
}
