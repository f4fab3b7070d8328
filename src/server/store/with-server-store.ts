import { joinFolder } from "../../machinery/files/owned-folder.ts";
import { openReadableStore } from "../encryption/readable-store.ts";
import type { ReadableStore } from "../encryption/readable-store.ts";
import { checkDataDirectory, isThere } from "../data-directory/check-data-directory.ts";
import { namesOfStore } from "./open-store.ts";
import type { StoreLocation } from "./open-store.ts";

/**
 * Runs a command on the store of a server that runs or not. Meanwhile no other server starts in the data directory, and nothing is
 * moved elsewhere. A server on etcd may have its data directory on another machine. Rejects with UsageError for a store of no
 * server, and with StoreUnavailable.
 */
export async function withServerStore<T>(
  location: StoreLocation,
  run: (opened: ReadableStore) => Promise<T>,
): Promise<T> {
  const { dataDirectory, storage } = location;
  const isHere = hasDataDirectory(location);
  if (isHere) checkDataDirectory(dataDirectory);
  // Before the lock, whose file would stay in a folder of something else.
  if (storage.type === "own") namesOfStore(dataDirectory);
  const folder = isHere ? joinFolder(dataDirectory) : undefined;
  try {
    return await withOpenStore(location, run);
  } finally {
    folder?.release();
  }
}

/** Does the same without a look at the data directory. */
export async function withOpenStore<T>(
  location: StoreLocation,
  run: (opened: ReadableStore) => Promise<T>,
): Promise<T> {
  const opened = await openReadableStore(location);
  try {
    return await run(opened);
  } finally {
    await opened.close();
  }
}

/** Whether a server's data directory has to be on this machine, or is. Throws UsageError for a folder that the system refuses. */
export const hasDataDirectory = ({ dataDirectory, storage }: StoreLocation): boolean =>
  storage.type === "own" || isThere(dataDirectory);
