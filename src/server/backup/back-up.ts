import { existsSync, statSync } from "node:fs";
import { timestamp } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { namesFor } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import { UsageError } from "../../machinery/command-line/flag.ts";
import { storedProfile } from "../../machinery/storage/backends/lmdb-environment.ts";
import { isForgotten, stateOf } from "../../machinery/storage/copy-objects.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { writtenWith } from "../../machinery/storage/encryption/value-transformer.ts";
import { secretsPrefix } from "../encryption/compile-encryption.ts";
import { storeDirectory } from "../lock-data-directory.ts";
import { openStore } from "../open-store.ts";
import type { StoreLocation } from "../open-store.ts";
import { signetVersion } from "../signet-version.ts";
import { verifyBackupFile, writeBackupFile } from "./backup-file.ts";
import type { BackupItem } from "./backup-format.ts";
import { dataDirectoryFiles, readEntry } from "./data-directory-files.ts";

export interface BackUpOptions {
  readonly file: string;
  readonly withKeys: boolean;
  readonly clock: Clock;
}

export interface BackUpReport {
  readonly objects: number;
  readonly revision: number;
  /** The files of the data directory in it. */
  readonly files: number;
  readonly withoutKeys: readonly string[];
  /** How many Secrets can be read by anyone who has the backup. */
  readonly plainSecrets: number;
}

/** A server may compact away what is being read; the next attempt reads a newer revision. */
const maximumAttempts = 3;

/**
 * Backs up a server that runs or not: the objects of one revision, and the files that only this server has. It takes no
 * lock that a server waits for. Then it reads the file again, all of it. Rejects with UsageError for settings that can't
 * be used, and with the system's errors; an older file of that name is there still.
 */
export async function backUp(location: StoreLocation, options: BackUpOptions): Promise<BackUpReport> {
  checkOwner(location.dataDirectory);
  const source =
    location.storage.type === "own" ? { ...location, names: namesOfStore(location.dataDirectory) } : location;
  const store = await openStore(source);
  const tally = { plainSecrets: 0 };
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await writeBackupFile(options.file, itemsOf(source, { store, tally, ...options }));
        break;
      } catch (error) {
        if (!isForgotten(error) || attempt === maximumAttempts) throw error;
      }
    }
  } finally {
    await store.close();
  }
  const { header, files, objects } = await verifyBackupFile(options.file);
  return { objects, files, revision: header.revision, withoutKeys: header.withoutKeys, ...tally };
}

async function* itemsOf(
  { dataDirectory, names }: StoreLocation,
  {
    store,
    tally,
    withKeys,
    clock,
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
    if (object.key.startsWith(secretsPrefix) && writtenWith(object.value) === undefined) tally.plainSecrets += 1;
    yield { type: "object", object };
  }
}

/** The names that the directory's store belongs to. Throws UsageError when there is no store. */
export function namesOfStore(directory: string): Names {
  const profile = storedProfile(storeDirectory(directory));
  if (profile === "platform" || profile === "kubernetes") return namesFor(profile);
  throw new UsageError(
    `--data-dir: ${directory} holds no store of a server: name the one that signet serve was given, and --etcd-servers if it has that`,
  );
}

/** A file that another user makes in there could not be used by the server. Throws UsageError. */
export function checkOwner(directory: string): void {
  if (!existsSync(directory)) throw new UsageError(`--data-dir: ${directory} does not exist`);
  const { uid } = statSync(directory);
  const user = process.getuid?.();
  if (user === undefined || uid === user) return;
  throw new UsageError(
    `--data-dir: ${directory} belongs to another user: run this as that one (sudo -u '#${uid}' signet …)`,
  );
}
