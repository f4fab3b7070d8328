import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { generatedAuthoritiesFolder } from "../../features/certificates/authorities/generated-authorities.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { ownFolder } from "../../machinery/files/folders/owned-folder.ts";
import { removeUnfinishedFiles } from "../../machinery/files/unfinished-files.ts";
import type { OwnedFolder, OwnFolderOptions } from "../../machinery/files/folders/owned-folder.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { removeUnsafeLock } from "../../machinery/storage/backends/lmdb-files.ts";
import { refuseLostStore, refuseUnfinishedRestore } from "./check-data-directory.ts";
import { storeDirectory, unfinishedRestore } from "./data-directory-places.ts";
import { refuseDamagedPages } from "./refuse-damaged-pages.ts";

/** Locks the data directory for this process, removes files that kills left, and makes its store safe to open. Throws UsageError. */
export function lockDataDirectory(directory: string): OwnedFolder {
  const folder = ownDataDirectory(directory);
  for (const part of [join(directory, generatedAuthoritiesFolder), storeDirectory(directory)]) {
    if (existsSync(part)) removeUnfinishedFiles(part);
  }
  removeUnsafeLock(storeDirectory(directory));
  try {
    refuseDamagedPages(directory, { purpose: "use" });
    return folder;
  } catch (cause) {
    folder.release();
    throw new UsageError(`--data-dir: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Locks the data directory for a restore. The restore's mark, the folder `unfinishedRestore`, is made first, so that after a kill at any
 * later moment no server takes the folder for a new data directory. The restore removes the mark when it is complete. Throws UsageError,
 * and removes what it made.
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
    // The folder does not exist, or another process has made something in it.
  }
}

function ownDataDirectory(directory: string, options: OwnFolderOptions = {}): OwnedFolder {
  try {
    refuseUnfinishedRestore(directory);
    refuseLostStore(directory);
    return ownFolder(directory, options);
  } catch (error) {
    throw error instanceof UnusableFile ? new UsageError(`--data-dir: ${error.message}`, { cause: error }) : error;
  }
}
