import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../machinery/api/clock.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { flushFolder } from "../../machinery/files/atomic-file.ts";
import { isOwnershipFile } from "../../machinery/files/folders/owned-folder.ts";
import { createObjects } from "../../machinery/storage/copy-objects.ts";
import type { CopiedObject } from "../../machinery/storage/copy-objects.ts";
import { groupedRevisions } from "../../machinery/storage/etcd/revision-form.ts";
import { lockForRestore } from "../data-directory/lock-data-directory.ts";
import { refuseUnfinishedRestore } from "../data-directory/check-data-directory.ts";
import { storeDirectory, unfinishedRestore } from "../data-directory/data-directory-places.ts";
import { markInEtcd } from "../data-directory/moved-store.ts";
import { openImportTarget } from "../store/open-store.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { readBackupFile, verifyBackupFile } from "./backup-file.ts";
import { largestRevision } from "./backup-format.ts";
import type { BackupHeader } from "./backup-format.ts";
import { writeEntry } from "../data-directory/data-directory-files.ts";

interface RestoreOptions {
  readonly file: string;
  readonly clock: Clock;
  /** Ends the restore early, and removes what it has made. */
  readonly signal: AbortSignal;
}

interface RestoreReport {
  readonly profile: string;
  readonly objects: number;
  readonly files: number;
  /** The newest revision of the restored objects. */
  readonly revision: number;
  /** The names of keys that the backup does not contain. */
  readonly withoutKeys: readonly string[];
}

/**
 * Nobody knows which revision the lost data had reached, and clients remember revisions. So the revisions of restored objects are computed
 * from the time of the restore: a hundred thousand for each second since the start of 2026. A server that makes fewer on average never
 * reaches such a revision, and neither did a server to which this or another backup was restored earlier. Backups hold 47 bits, which last
 * until 2070.
 */
const revisionsPerMillisecond = 100;
const startOfRevisions = Date.UTC(2026, 0, 1);
/**
 * For a server that made revisions faster, or whose clock was wrong. With a thousand writes a second, a server needs eleven days to make
 * so many revisions after the backup. (etcd's documentation of `etcdutl snapshot restore --bump-revision` names the same number of writes.)
 * On etcd, a write takes up to ten revisions of the store.
 */
const revisionsSkipped = 1_000_000_000 * groupedRevisions.step;

function firstRevision({ revision, time }: BackupHeader, now: number): number {
  const madeAt = Date.parse(time);
  const revisionAt = (milliseconds: number): number => (milliseconds - startOfRevisions) * revisionsPerMillisecond;
  const wanted = revisionAt(Math.max(now, madeAt));
  const isUsable = revision <= revisionAt(madeAt) && wanted <= largestRevision - revisionsSkipped;
  return isUsable ? wanted : revision + revisionsSkipped;
}

/** Whether an entry may be in a folder that counts as empty: an entry of the file system itself, a lock, or the mark of this restore. */
const isHarmless = (directory: string, name: string): boolean =>
  name === "lost+found" || isOwnershipFile(name) || join(directory, name) === unfinishedRestore(directory);

/**
 * Makes a data directory, and the prefix in etcd if the settings have one, from a backup. Reads the whole backup before it writes anything.
 * Watches and lists that clients began earlier are answered with 410, so they begin again and miss nothing. In the end, either everything
 * or nothing is restored; after a kill, servers refuse the incomplete directory. Rejects with UsageError, UnusableFile, DamagedBackup and
 * the system's errors.
 */
export async function restoreBackup(
  { dataDirectory: directory, storage }: Pick<StoreLocation, "dataDirectory" | "storage">,
  { file, clock, signal }: RestoreOptions,
): Promise<RestoreReport> {
  refuseUnfinishedRestore(directory);
  refuseUsed(directory);
  const { header, files } = await verifyBackupFile(file, signal);
  const { profile, withoutKeys } = header;
  const isNew = !existsSync(directory);
  const folder = lockForRestore(directory);
  const before = new Set(readdirSync(directory));
  const staging = unfinishedRestore(directory);
  try {
    // Checks again, now with the lock: a server or another restore may have used the folder while the backup was read.
    refuseUsed(directory);
    const target = await openImportTarget(storage, {
      directory: storeDirectory(staging),
      profile,
      revision: firstRevision(header, clock.now()),
    });
    try {
      const objects = await createObjects(target.store, objectsOf(file, { staging, signal }));
      const revision = await target.store.latestRevision();
      if (storage.type === "etcd") markInEtcd(staging);
      await target.finish();
      if (storage.type === "own") await target.store.close();
      moveUp(staging, directory);
      folder.release();
      return { profile, objects, files, revision, withoutKeys };
    } catch (error) {
      await target.abandon();
      throw error;
    } finally {
      await target.store.close();
    }
  } catch (error) {
    removeMade(directory, { before, isNew });
    folder.release();
    throw error;
  }
}

/** The objects of a backup. Writes its files, which come before the objects. */
async function* objectsOf(
  file: string,
  { staging, signal }: { readonly staging: string; readonly signal: AbortSignal },
): AsyncIterable<CopiedObject> {
  for await (const item of readBackupFile(file)) {
    signal.throwIfAborted();
    if (item.type === "file") writeEntry(staging, item.file);
    else if (item.type === "object") yield item.object;
  }
}

/** Moves everything to its place. Removes the staging folder last, because no server starts while it exists. */
function moveUp(staging: string, directory: string): void {
  for (const name of readdirSync(staging)) renameSync(join(staging, name), join(directory, name));
  flushFolder(directory);
  rmdirSync(staging);
  flushFolder(directory);
}

/**
 * Removes what the restore has made. The staging folder is last, and stays if anything else could not be removed. Never throws, because the
 * earlier error says what is wrong.
 */
function removeMade(
  directory: string,
  { before, isNew }: { readonly before: ReadonlySet<string>; readonly isNew: boolean },
): void {
  const staging = unfinishedRestore(directory);
  const isMade = (name: string): boolean => !before.has(name) || isOwnershipFile(name);
  try {
    for (const name of readdirSync(directory).filter(isMade)) {
      const path = join(directory, name);
      if (path !== staging) rmSync(path, { recursive: true, force: true });
    }
    rmSync(staging, { recursive: true, force: true });
    if (isNew) rmdirSync(directory);
  } catch {
    // The staging folder is still there, so no server starts with the rest.
  }
}

/** Throws UnusableFile for a data directory that holds something already. */
function refuseUsed(directory: string): void {
  if (!existsSync(directory)) return;
  const found = readdirSync(directory).find((name) => !isHarmless(directory, name));
  if (found === undefined) return;
  throw new UsageError(`--data-dir: ${directory} is not empty (it holds ${found}); name one that does not exist yet`);
}
