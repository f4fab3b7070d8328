import { joinFolder } from "../../machinery/files/folders/owned-folder.ts";
import { openDecryptedStore } from "../encryption/decrypted-store.ts";
import type { DecryptedStore } from "../encryption/decrypted-store.ts";
import { checkDataDirectory, directoryExists } from "../data-directory/check-data-directory.ts";
import { refuseDamagedPages } from "../data-directory/refuse-damaged-pages.ts";
import { namesOfStore } from "./open-store.ts";
import type { StoreLocation } from "./open-store.ts";

/**
 * Runs a command on the store of a server, whether it runs or not. While the command runs, no other server starts in the data directory,
 * and its store is not moved. The data directory of a server on etcd may be on another machine. Rejects with UsageError for a store that is
 * no server's, with UnusableFile for a damaged one, and with StoreUnavailable.
 */
export async function withServerStore<T>(
  location: StoreLocation,
  run: (opened: DecryptedStore) => Promise<T>,
): Promise<T> {
  const { dataDirectory, storage } = location;
  const isHere = usesDataDirectory(location);
  if (isHere) checkDataDirectory(dataDirectory);
  if (storage.type === "own") {
    refuseDamagedPages(dataDirectory, { purpose: "use" });
    // Before the lock, whose file would otherwise stay in an unrelated folder.
    namesOfStore(dataDirectory);
  }
  const folder = isHere ? joinFolder(dataDirectory) : undefined;
  try {
    return await withOpenStore(location, run);
  } finally {
    folder?.release();
  }
}

/** Like `withServerStore`, but does not use the data directory. */
export async function withOpenStore<T>(
  location: StoreLocation,
  run: (opened: DecryptedStore) => Promise<T>,
): Promise<T> {
  const opened = await openDecryptedStore(location);
  try {
    return await run(opened);
  } finally {
    await opened.close();
  }
}

/**
 * Whether a server has its data directory on this machine: always with its own store, and with etcd when the folder exists. Throws
 * UsageError for a folder that the system refuses.
 */
export const usesDataDirectory = ({ dataDirectory, storage }: StoreLocation): boolean =>
  storage.type === "own" || directoryExists(dataDirectory);
