import { lstatSync, statSync } from "node:fs";
import { UsageError } from "../machinery/command-line/flag.ts";
import { linkToNothing } from "../machinery/files/make-folder.ts";
import { joinFolder } from "../machinery/files/owned-folder.ts";
import { fileFailureReason } from "../machinery/files/unusable-file.ts";
import { openReadableStore } from "./encryption/readable-store.ts";
import type { ReadableStore } from "./encryption/readable-store.ts";
import { refuseUnfinishedRestore } from "./lock-data-directory.ts";
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
  const isHere = checkDataDirectory(location);
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

/** Whether the data directory is on this machine. Throws UsageError when it is of another user, or was not restored to its end. */
export function checkDataDirectory({ dataDirectory, storage }: StoreLocation): boolean {
  if (storage.type !== "own" && !isThere(dataDirectory)) return false;
  checkOwner(dataDirectory);
  refuseUnfinishedRestore(dataDirectory);
  return true;
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
