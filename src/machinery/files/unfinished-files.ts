import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { removeFile } from "./remove-file.ts";

/** In characters, each of which takes up to four bytes: a name may have 255 bytes. */
const longestPrefix = 50;

/** A new temporary path for a file while it is being written. */
export const unfinishedPath = (file: string): string =>
  join(dirname(file), `${basename(file).slice(0, longestPrefix)}.${randomBytes(6).toString("hex")}.new`);

/** The final name of a file that is being written. For any other file, its own name. */
const finishedName = (name: string): string => name.replace(/\.[0-9a-f]{12}\.new$/, "");

/** Whether a name is the temporary name of a file that is being written, or was when its process was killed. `finished`: its final name. */
export const isUnfinishedFile = (name: string, finished = finishedName(name)): boolean =>
  name !== finished && finishedName(name) === finished;

/**
 * Removes the temporary files that killed processes have left of a file, if they were not changed since `untouchedSince` (milliseconds
 * since the epoch). Without this time, no other process may write the file now.
 */
export function removeUnfinished(
  file: string,
  { untouchedSince = Infinity }: { readonly untouchedSince?: number } = {},
): void {
  const finished = basename(file).slice(0, longestPrefix);
  for (const name of readdirSync(dirname(file))) {
    if (!isUnfinishedFile(name, finished)) continue;
    const path = join(dirname(file), name);
    const { mtimeMs = 0 } = lstatSync(path, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs <= untouchedSince) removeFile(path);
  }
}

/** The longest write is a backup, which writes all the time, or reads for minutes what it has written. */
const abandonedMilliseconds = 60 * 60_000;

/**
 * Removes the old temporary files that killed processes have left of a file, which other processes may write now. They may contain keys,
 * and fill the disk. Never throws, because the file can be written also in a folder that cannot be listed.
 */
export function removeAbandoned(file: string, now: number): void {
  try {
    removeUnfinished(file, { untouchedSince: now - abandonedMilliseconds });
  } catch {
    // The old files stay.
  }
}

/**
 * Removes the temporary files of each `writeFileAtomically` in this folder that a kill interrupted, but not those in its subfolders. They
 * may contain keys. No other process may write to the folder now.
 */
export function removeUnfinishedFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (isUnfinishedFile(name)) removeFile(join(folder, name));
  }
}
