import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../machinery/api/clock.ts";
import { UsageError } from "../../machinery/command-line/flag.ts";
import { flushFolder } from "../../machinery/files/atomic-file.ts";
import { isOwnershipFile } from "../../machinery/files/owned-folder.ts";
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

export interface RestoreOptions {
  readonly file: string;
  readonly clock: Clock;
  /** Ends it early; what was made so far is removed. */
  readonly signal: AbortSignal;
}

export interface RestoreReport {
  readonly profile: string;
  readonly objects: number;
  readonly files: number;
  /** The newest revision of the restored objects. */
  readonly revision: number;
  /** Keys that the backup does not have. */
  readonly withoutKeys: readonly string[];
}

/**
 * It is unknown how far revisions had come when the data was lost, and clients remember those. So the revisions of restored objects
 * follow from the time of the restore: a hundred thousand for each second since the start of 2026. A server that makes fewer, on
 * average, never comes so far, and neither did one that the same backup, an older or a newer one was restored to before. Backups hold
 * 47 bits, which last until 2070.
 */
const revisionsPerMillisecond = 100;
const startOfRevisions = Date.UTC(2026, 0, 1);
/**
 * For a server that had come further, or whose clock was wrong: a thousand writes a second since the backup would take eleven days to come
 * so far. (etcd's documentation of `etcdutl snapshot restore --bump-revision` names the same number of writes.) On etcd, a write takes up
 * to ten revisions of the store.
 */
const revisionsSkipped = 1_000_000_000 * groupedRevisions.step;

function firstRevision({ revision, time }: BackupHeader, now: number): number {
  const madeAt = Date.parse(time);
  const revisionAt = (milliseconds: number): number => (milliseconds - startOfRevisions) * revisionsPerMillisecond;
  const wanted = revisionAt(Math.max(now, madeAt));
  const isUsable = revision <= revisionAt(madeAt) && wanted <= largestRevision - revisionsSkipped;
  return isUsable ? wanted : revision + revisionsSkipped;
}

/** What may be in a folder that counts as empty: also what a file system of its own has, locks, and the mark of this restore. */
const isHarmless = (directory: string, name: string): boolean =>
  name === "lost+found" || isOwnershipFile(name) || join(directory, name) === unfinishedRestore(directory);

/**
 * Makes a data directory, and the prefix in etcd if the settings have one, from a backup. Reads all of the backup before it
 * writes anything. Watches and lists that clients began before are answered 410: they begin again, and miss nothing. All or
 * nothing is there in the end; after a kill, a server refuses what is there. Rejects with UsageError, UnusableFile,
 * DamagedBackup and the system's errors.
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
    // Again, with the lock: a server or another restore may have been there while the backup was read.
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

/** The objects of a backup. Its files are written on the way: they come first. */
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

/** Puts everything in its place. The staging folder goes last: while it is there, no server starts. */
function moveUp(staging: string, directory: string): void {
  for (const name of readdirSync(staging)) renameSync(join(staging, name), join(directory, name));
  flushFolder(directory);
  rmdirSync(staging);
  flushFolder(directory);
}

/** The staging folder goes last, and stays where something else does. Throws nothing: the failure before says what is wrong. */
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
    // No server starts with what is left.
  }
}

/** Throws UnusableFile for a data directory that holds something already. */
function refuseUsed(directory: string): void {
  if (!existsSync(directory)) return;
  const found = readdirSync(directory).find((name) => !isHarmless(directory, name));
  if (found === undefined) return;
  throw new UsageError(`--data-dir: ${directory} is not empty (it holds ${found}); name one that does not exist yet`);
}
