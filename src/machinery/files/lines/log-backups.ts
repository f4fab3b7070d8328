import { createReadStream, createWriteStream, readdirSync, statSync } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "../../api/clock.ts";
import { DeletionDelays } from "../../scheduling/deletion-delays.ts";
import type { SqliteLock } from "../locks/sqlite-lock.ts";

export interface LogBackupsOptions {
  /** The file that is moved away. */
  readonly path: string;
  /** 0: no limit. */
  readonly maximumAgeMilliseconds: number;
  /** 0: no limit. */
  readonly maximumCount: number;
  readonly isCompressed: boolean;
  /** Held while this process tidies, so that other processes do not. */
  readonly lock: SqliteLock;
  readonly clock: Clock;
  readonly monotonic: Clock;
}

const backupTime = /^-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3})$/;

/** The backups of a log: the files to which it was moved. */
export class LogBackups {
  readonly #options: LogBackupsOptions;
  readonly #deletionDelays: DeletionDelays;

  constructor(options: LogBackupsOptions) {
    this.#options = options;
    this.#deletionDelays = new DeletionDelays(options.monotonic);
  }

  /**
   * Removes the oldest backups beyond the maximum count, and backups that were found too old for long enough. Compresses the others. A
   * crash at any point leaves each backup unchanged or compressed. Rejects with the system's error; the next call does the rest.
   */
  async tidy(): Promise<void> {
    const { path, lock, isCompressed, maximumCount } = this.#options;
    if (!lock.lockExclusive({ waitMilliseconds: 0 })) return;
    try {
      const folder = dirname(path);
      const backups = backupsOf(path, await readdir(folder));
      for (const { name } of backups.filter(({ isPartial }) => isPartial))
        await rm(join(folder, name), { force: true });
      const whole = backups.filter(({ isPartial }) => !isPartial);
      const tooOld = await this.#tooOld(whole);
      this.#deletionDelays.keep(tooOld);
      const removed = new Set([...tooOld].filter((name) => this.#deletionDelays.wait(name) <= 0));
      for (const [index, { name, plainName, isPacked }] of whole.entries()) {
        const isOneTooMany = maximumCount > 0 && index >= maximumCount;
        const file = join(folder, name);
        if (isOneTooMany || removed.has(plainName)) await rm(file, { force: true });
        else if (isCompressed && !isPacked) await compressFile(file);
      }
    } finally {
      lock.unlock();
    }
  }

  /** The plain names of the backups that are too old now. */
  async #tooOld(backups: readonly Backup[]): Promise<ReadonlySet<string>> {
    const { path, clock, maximumAgeMilliseconds } = this.#options;
    const names = new Set<string>();
    if (maximumAgeMilliseconds === 0) return names;
    for (const { at, name, plainName } of backups) {
      // After the clock was set back, the time in the name is in the future, and the file's own time counts.
      const time = at <= clock.now() ? at : await modifiedAt(join(dirname(path), name));
      if (time < clock.now() - maximumAgeMilliseconds) names.add(plainName);
    }
    return names;
  }
}

/**
 * The path to which a log is moved now, in the format of upstream's library: `audit-2026-11-22T06-30-59.123.log`. Its time is later than
 * the times of all existing backups, also after the clock was set back, because the order of the backups follows from their names.
 */
export function newBackupPath(path: string, now: number): string {
  const extension = extname(path);
  for (let at = Math.max(now, newestBackupAt(path) + 1); ; at++) {
    const time = new Date(at).toISOString().slice(0, -1).replaceAll(":", "-");
    const backup = `${path.slice(0, path.length - extension.length)}-${time}${extension}`;
    const isTaken = [backup, `${backup}.gz`].some((one) => statSync(one, { throwIfNoEntry: false }) !== undefined);
    if (!isTaken) return backup;
  }
}

function newestBackupAt(path: string): number {
  try {
    return backupsOf(path, readdirSync(dirname(path)))[0]?.at ?? 0;
  } catch {
    return 0; // a folder may be writable and not readable
  }
}

interface Backup {
  readonly name: string;
  /** The name without the ending of compressed files. */
  readonly plainName: string;
  /** When the file was moved away, in milliseconds since the epoch. */
  readonly at: number;
  readonly isPacked: boolean;
  /** Whether the file was left by an interrupted compression. */
  readonly isPartial: boolean;
}

/** The backups of a log among the files of its folder, newest first. */
const backupsOf = (path: string, names: readonly string[]): readonly Backup[] =>
  names.flatMap((name) => backupOf(name, basename(path)) ?? []).toSorted((a, b) => b.at - a.at);

function backupOf(name: string, logName: string): Backup | undefined {
  const extension = extname(logName);
  const prefix = logName.slice(0, logName.length - extension.length);
  const isPartial = name.endsWith(".gz.new");
  const isPacked = isPartial || name.endsWith(".gz");
  const plainName = name.replace(/\.gz(\.new)?$/, "");
  if (!plainName.startsWith(prefix) || !plainName.endsWith(extension)) return undefined;
  const time = plainName.slice(prefix.length, plainName.length - extension.length);
  const [, hour, minute, second] = backupTime.exec(time) ?? [];
  const at = Date.parse(`${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? undefined : { name, plainName, at, isPacked, isPartial };
}

/** When a file was changed, in milliseconds since the epoch. Infinity if it does not exist any more. */
const modifiedAt = async (file: string): Promise<number> =>
  await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Infinity,
  );

/** Compresses a file. The compressed file is complete and flushed before the original is removed. */
async function compressFile(file: string): Promise<void> {
  const partial = `${file}.gz.new`;
  try {
    await pipeline(createReadStream(file), createGzip(), createWriteStream(partial, { mode: 0o600, flags: "wx" }));
    const written = await open(partial, "r+");
    try {
      await written.sync();
    } finally {
      await written.close();
    }
    await rename(partial, `${file}.gz`);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await rm(file);
}
