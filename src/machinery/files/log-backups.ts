import { createReadStream, createWriteStream } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { SqliteLock } from "./sqlite-lock.ts";

export interface LogBackupsOptions {
  /** The file that is moved away. */
  readonly path: string;
  /** 0: no limit. */
  readonly maximumAgeMilliseconds: number;
  /** 0: no limit. */
  readonly maximumCount: number;
  readonly isCompressed: boolean;
  /** Held meanwhile: another process that wants to tidy leaves it to this one. */
  readonly lock: SqliteLock;
  readonly now: () => number;
}

const backupTime = /^-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3})$/;

/**
 * Removes the backups of a log that are too old or too many, and compresses the others. A crash at any point leaves each
 * backup as it was, or compressed. Rejects with the system's error; the rest is done the next time.
 */
export async function tidyBackups(options: LogBackupsOptions): Promise<void> {
  const { path, lock, isCompressed } = options;
  if (!lock.lockExclusive({ waitMilliseconds: 0 })) return;
  try {
    const folder = dirname(path);
    const names = await readdir(folder);
    const backups = names.flatMap((name) => backupOf(name, basename(path)) ?? []).toSorted((a, b) => b.at - a.at);
    for (const { name } of backups.filter(({ isPartial }) => isPartial)) await rm(join(folder, name), { force: true });
    const whole = backups.filter(({ isPartial }) => !isPartial);
    for (const [index, { name, at, isPacked }] of whole.entries()) {
      const file = join(folder, name);
      if (isSurplus({ index, at }, options)) await rm(file, { force: true });
      else if (isCompressed && !isPacked) await compressFile(file);
    }
  } finally {
    lock.unlock();
  }
}

interface Backup {
  readonly name: string;
  /** When the file was moved away: milliseconds since the epoch. */
  readonly at: number;
  readonly isPacked: boolean;
  /** What an interrupted compression has left. */
  readonly isPartial: boolean;
}

function backupOf(name: string, logName: string): Backup | undefined {
  const extension = extname(logName);
  const prefix = logName.slice(0, logName.length - extension.length);
  const isPartial = name.endsWith(".gz.new");
  const isPacked = isPartial || name.endsWith(".gz");
  const plain = name.replace(/\.gz(\.new)?$/, "");
  if (!plain.startsWith(prefix) || !plain.endsWith(extension)) return undefined;
  const [, hour, minute, second] = backupTime.exec(plain.slice(prefix.length, plain.length - extension.length)) ?? [];
  const at = Date.parse(`${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? undefined : { name, at, isPacked, isPartial };
}

const isSurplus = (
  { index, at }: { readonly index: number; readonly at: number },
  { maximumCount, maximumAgeMilliseconds, now }: LogBackupsOptions,
): boolean =>
  (maximumCount > 0 && index >= maximumCount) || (maximumAgeMilliseconds > 0 && at < now() - maximumAgeMilliseconds);

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
