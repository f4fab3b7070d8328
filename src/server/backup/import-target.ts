import { rmSync } from "node:fs";
import { LmdbStore } from "../../machinery/storage/backends/lmdb.ts";
import { openEtcdForImport } from "../open-store.ts";
import type { ImportTarget } from "../open-store.ts";
import type { StorageSettings } from "../storage-settings.ts";

export interface ImportTargetOptions {
  /** Where a store of the data directory is made; a name that nothing has. */
  readonly directory: string;
  readonly profile: string;
  /** Every object gets a revision above this one. */
  readonly revision: number;
}

/** An empty store for objects from elsewhere: the prefix in etcd of the settings, or a new folder. Rejects with UsageError. */
export async function openImportTarget(
  storage: StorageSettings,
  { directory, profile, revision }: ImportTargetOptions,
): Promise<ImportTarget> {
  if (storage.type === "etcd") return await openEtcdForImport(storage, { profile, revision });
  return {
    store: new LmdbStore({ directory, profile, firstRevision: revision }),
    finish: async () => {},
    abandon: async () => rmSync(directory, { recursive: true, force: true }),
  };
}
