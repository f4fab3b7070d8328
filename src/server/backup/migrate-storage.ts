import { existsSync, renameSync } from "node:fs";
import { commandRefused } from "../../machinery/command-line/command-failure.ts";
import type { CommandFailure } from "../../machinery/command-line/command-failure.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { flushFolder } from "../../machinery/files/atomic-file.ts";
import { createObjects, stateOf } from "../../machinery/storage/copy-objects.ts";
import type { CopiedObject } from "../../machinery/storage/copy-objects.ts";
import { WriteOutcomeUnknown } from "../../machinery/storage/store.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { lockDataDirectory } from "../data-directory/lock-data-directory.ts";
import { storeDirectory } from "../data-directory/data-directory-places.ts";
import { refuseRunningServer, serverRuns } from "../store/refuse-running-server.ts";
import type { RunningServerCheckOptions } from "../store/refuse-running-server.ts";
import { markInEtcd, markStoreMoved, unfinishedStore, unmarkInEtcd } from "../data-directory/moved-store.ts";
import { markEtcdMoved, openImportTarget } from "../store/open-store.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { refuseOtherDataDirectory } from "../store/replica-identity.ts";
import { checkOwner } from "../data-directory/check-data-directory.ts";
import { decrypted, openDecryptedStore } from "../encryption/decrypted-store.ts";
import type { DecryptedStore } from "../encryption/decrypted-store.ts";
import { storedEntries } from "../../machinery/storage/stored-entries.ts";
import { everyKey } from "../../machinery/storage/key-range.ts";

/** The data directory's own store, or etcd. */
type StorageKind = "lmdb" | "etcd";

export interface MigrateOptions extends RunningServerCheckOptions {
  readonly from: StorageKind;
  readonly to: StorageKind;
}

interface MigrateReport {
  readonly objects: number;
  readonly profile: string;
  /** The newest revision, in the new store. */
  readonly revision: number;
}

/**
 * Moves all objects between the data directory's own store and etcd, while no server runs. Clients must list again (410), because no
 * revision that they know occurs again. The old store is kept, but no server uses it any more. Rejects with UsageError for settings that
 * can't be used, for a data directory of another server, for a target that is not empty, and when it sees a server use the source.
 */
export async function migrateStorage(location: StoreLocation, options: MigrateOptions): Promise<MigrateReport> {
  const { from, to } = options;
  if (from === to) throw new UsageError(`--from and --to are both ${from}: there is nothing to move`);
  const { dataDirectory: directory, storage } = location;
  if (storage.type !== "etcd") throw new UsageError("--etcd-servers: name the members of etcd");
  checkOwner(directory);
  const folder = lockDataDirectory(directory);
  try {
    const source = await openDecryptedStore(locationIn(from, location));
    try {
      // Later than the source, which says so when its objects are in this store already.
      if (to === "lmdb") refuseStore(directory, unfinishedStore(directory));
      return await moveObjects(source, { to: locationIn(to, location), options });
    } finally {
      await source.close();
    }
  } finally {
    folder.release();
  }
}

/** The location with one of its two stores. The given location has the settings of etcd. */
const locationIn = (kind: StorageKind, location: StoreLocation): StoreLocation =>
  kind === "etcd" ? location : { ...location, storage: { type: "own" } };

/** Copies the objects into a new store, then takes the source out of use, and closes it. */
async function moveObjects(
  { store, location: source, close }: DecryptedStore,
  { to, options }: { readonly to: StoreLocation; readonly options: MigrateOptions },
): Promise<MigrateReport> {
  const { from, signal } = options;
  const isToEtcd = to.storage.type === "etcd";
  const directory = source.dataDirectory;
  const newStore = unfinishedStore(directory);
  const { profile } = source.names;
  // In another data directory, a server would make new CAs, and all existing certificates and tokens would be invalid.
  if (from === "etcd") await refuseOtherDataDirectory(store, directory);
  const { revision: readAt, objects } = await stateOf(store);
  // Only for etcd: the data directory's own store is locked.
  if (from === "etcd") await refuseRunningServer(store, options);
  const target = await openImportTarget(to.storage, { directory: newStore, profile, revision: readAt });
  try {
    // Encrypts as the target's settings say: the data directory's key is not for etcd.
    const written = await decrypted(target.store, { location: to, makesKey: true });
    const count = await createObjects(written.store, until(signal, objects())).finally(() => written.closeKeys());
    const revision = await target.store.latestRevision();
    // This takes seconds. A server that was not seen may write in that time.
    if (!isToEtcd) await target.finish();
    await refuseChanges(store, { readAt, count });
    // From here on, a failure at any point must not leave two stores that servers may use.
    markInEtcd(directory);
    if (isToEtcd) await target.finish();
    await close();
    await switchOver(source, { from, newStore, revision: readAt });
    return { objects: count, profile, revision };
  } catch (error) {
    // When the import into etcd may be complete, etcd is the store that servers use.
    if ((await target.abandon()) && isToEtcd) unmarkInEtcd(directory);
    throw error;
  } finally {
    await target.store.close();
  }
}

/** Takes the old store out of use, and moves the new one to its place. */
async function switchOver(
  source: StoreLocation,
  { from, newStore, revision }: { readonly from: StorageKind; readonly newStore: string; readonly revision: number },
): Promise<void> {
  const directory = source.dataDirectory;
  if (from === "lmdb") {
    markStoreMoved(directory, revision);
    return;
  }
  renameSync(newStore, storeDirectory(directory));
  flushFolder(directory);
  try {
    if (source.storage.type === "etcd") await markEtcdMoved(source.storage, source.names.profile);
  } catch (error) {
    // etcd may have written the mark. Then no server uses the old store any more.
    if (error instanceof UsageError && error.cause instanceof WriteOutcomeUnknown) {
      unmarkInEtcd(directory);
      throw unknownMark(directory, error);
    }
    // There must never be two stores that servers may use, so the old store stays in use.
    renameSync(storeDirectory(directory), newStore);
    throw error;
  }
  unmarkInEtcd(directory);
}

const unknownMark = (directory: string, cause: Error): CommandFailure =>
  commandRefused(
    `all objects are in ${storeDirectory(directory)} now, but etcd did not say whether it lets servers use those that it has: start ` +
      "signet serve without --etcd-servers, and no server with it any more",
    { cause },
  );

async function* until(signal: AbortSignal, objects: AsyncIterable<CopiedObject>): AsyncIterable<CopiedObject> {
  for await (const object of objects) {
    signal.throwIfAborted();
    yield object;
  }
}

function refuseStore(directory: string, newStore: string): void {
  if (existsSync(storeDirectory(directory))) {
    throw new UsageError(`--data-dir: ${directory} has a store already; move ${storeDirectory(directory)} away`);
  }
  if (existsSync(newStore)) {
    throw new UsageError(`--data-dir: ${newStore} is of a migration that broke off; remove it and try again`);
  }
}

/** Throws when anything was written after the objects were read, because it would be lost. */
async function refuseChanges(
  store: Store,
  { readAt, count }: { readonly readAt: number; readonly count: number },
): Promise<void> {
  let found = 0;
  for await (const { modRevision } of storedEntries(store, { ...everyKey, limit: 1000 })) {
    if (modRevision > readAt) throw serverRuns("something was written meanwhile");
    found += 1;
  }
  if (found !== count) throw serverRuns("something was deleted meanwhile");
}
