import { join } from "node:path";
import { ownFolder } from "../machinery/files/owned-folder.ts";
import type { OwnedFolder } from "../machinery/files/owned-folder.ts";
import { removeUnsafeLock } from "../machinery/storage/backends/lmdb-environment.ts";

/** Takes the data directory for this server, and makes its store safe to open. Throws UnusableFile. */
export function lockDataDirectory(directory: string): OwnedFolder {
  const folder = ownFolder(directory);
  removeUnsafeLock(storeDirectory(directory));
  return folder;
}

/** The store's folder in a data directory. */
export const storeDirectory = (dataDirectory: string): string => join(dataDirectory, "store");
