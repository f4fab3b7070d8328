import { timestamp } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { removeAbandoned } from "../../machinery/files/unfinished-files.ts";
import { mustReadAgain, stateOf } from "../../machinery/storage/copy-objects.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { writtenWith } from "../../machinery/storage/encryption/value-transformer.ts";
import { secretsPrefix } from "../encryption/compile-encryption.ts";
import { checkDataDirectory } from "../data-directory/check-data-directory.ts";
import { refuseDamagedPages } from "../data-directory/refuse-damaged-pages.ts";
import { openExistingStore } from "../store/open-store.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { signetVersion } from "../signet-version.ts";
import { verifyBackupFile, writeBackupFile } from "./backup-file.ts";
import type { BackupItem } from "./backup-format.ts";
import { dataDirectoryFiles, readEntry } from "../data-directory/data-directory-files.ts";

interface BackUpOptions {
  readonly file: string;
  readonly withKeys: boolean;
  readonly clock: Clock;
  /** Ends the backup early. An existing file of that name stays. */
  readonly signal: AbortSignal;
}

interface BackUpReport {
  readonly objects: number;
  readonly revision: number;
  /** The number of files of the data directory in the backup. */
  readonly files: number;
  readonly withoutKeys: readonly string[];
  /** How many Secrets anyone who has the backup can read. */
  readonly plainSecrets: number;
}

/** A running server may compact the revision that is being read. The next attempt reads a newer revision. */
const maximumAttempts = 3;

/**
 * Backs up a server, whether it runs or not: the objects of one revision, and the files that only this server has. It takes no lock that a
 * server waits for. It verifies the whole new file before the file replaces an older one. It removes files that killed backups left.
 * Rejects with UsageError for settings that can't be used, UnusableFile when a restore is not complete or the store is damaged, and the
 * system's errors. An older file of that name is then still there.
 */
export async function backUp(location: StoreLocation, options: BackUpOptions): Promise<BackUpReport> {
  const { dataDirectory, storage } = location;
  checkDataDirectory(dataDirectory);
  if (storage.type === "own") refuseDamagedPages(dataDirectory, { purpose: "backup" });
  const { store, location: source } = await openExistingStore(location);
  const tally = { plainSecrets: 0 };
  const { file, signal, clock } = options;
  try {
    removeAbandoned(file, clock.now());
    for (let attempt = 1; ; attempt += 1) {
      try {
        const items = itemsOf(source, { store, tally, ...options });
        const check = (written: string) => verifyBackupFile(written, signal);
        const { header, files, objects } = await writeBackupFile(file, { items, check });
        return { objects, files, revision: header.revision, withoutKeys: header.withoutKeys, ...tally };
      } catch (error) {
        if (!mustReadAgain(error) || attempt === maximumAttempts) throw error;
      }
    }
  } finally {
    await store.close();
  }
}

async function* itemsOf(
  { dataDirectory, names }: StoreLocation,
  {
    store,
    tally,
    withKeys,
    clock,
    signal,
  }: BackUpOptions & { readonly store: Store; readonly tally: { plainSecrets: number } },
): AsyncIterable<BackupItem> {
  const { certificates, keys } = dataDirectoryFiles(dataDirectory);
  const { revision, objects } = await stateOf(store);
  tally.plainSecrets = 0;
  yield {
    type: "header",
    header: {
      format: "signet-backup",
      version: 1,
      signet: signetVersion,
      time: timestamp(clock.now()),
      profile: names.profile,
      revision,
      withoutKeys: withKeys ? [] : keys,
    },
  };
  for (const file of withKeys ? [...certificates, ...keys] : certificates) {
    yield { type: "file", file: readEntry(dataDirectory, file) };
  }
  for await (const object of objects()) {
    signal.throwIfAborted();
    if (object.key.startsWith(secretsPrefix) && writtenWith(object.value) === undefined) tally.plainSecrets += 1;
    yield { type: "object", object };
  }
}
