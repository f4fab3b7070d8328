import { createReadStream, createWriteStream, readdirSync, statSync } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "../api/clock.ts";
import { DeletionDelays } from "../scheduling/deletion-delays.ts";
import type { SqliteLock } from "./sqlite-lock.ts";

export interface LogBackupsOptions {
  /** The file that is moved away. */
  readonly path: string;
  /** 0: no limit. */
  readonly maximumAgeMilliseconds: number;
  /** 0: no limit. */
  readonly maximumCount: number;
  readonly isCompressed: boolean;
  /** Held while this process tidies: other processes then leave it to this one. */
  readonly lock: SqliteLock;
  readonly clock: Clock;
  readonly monotonic: Clock;
}

const backupTime = /^-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3})$/;

/** The files to which a log was moved. */
export class LogBackups {
  readonly #options: LogBackupsOptions;
  readonly #deletionDelays: DeletionDelays;

  constructor(options: LogBackupsOptions) {
    this.#options = options;
    this.#deletionDelays = new DeletionDelays(options.monotonic);
  }

  /**
   * Removes the backups that are too many, and those that were seen to be too old for long enough. Compresses the others. A crash at any
   * point leaves each backup as it was, or compressed. Rejects with the system's error; the rest is done the next time.
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
      // When the clock was set back, only the file's own time says how old it is.
      const time = at <= clock.now() ? at : await modifiedAt(join(dirname(path), name));
      if (time < clock.now() - maximumAgeMilliseconds) names.add(plainName);
    }
    return names;
  }
}

/**
 * Where to move a log now: a name as the library that upstream uses gives, `audit-2026-11-22T06-30-59.123.log`. It is later than the names
 * of all backups that are there, also when the clock was set back: the names say which of them are the oldest.
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
    return 0; // a folder may take files and not show them
  }
}

interface Backup {
  readonly name: string;
  /** The name without what the compression adds. */
  readonly plainName: string;
  /** When the file was moved away: milliseconds since the epoch. */
  readonly at: number;
  readonly isPacked: boolean;
  /** What an interrupted compression has left. */
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

/** In milliseconds since the epoch. Infinity when the file is gone. */
const modifiedAt = async (file: string): Promise<number> =>
  await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Infinity,
  );

/** The compressed file is whole and flushed before the other is removed. */
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
