import { createReadStream, statSync } from "node:fs";
import { createGunzip, createGzip } from "node:zlib";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { splitLines } from "../../machinery/api/bytes/split-lines.ts";
import { errorCode } from "../../machinery/api/thrown-error.ts";
import { openReplacement } from "../../machinery/files/atomic-file.ts";
import { DamagedBackup, formatBackup, parseBackup } from "./backup-format.ts";
import type { BackupHeader, BackupItem } from "./backup-format.ts";

/** An object of 3 MiB in which each character is escaped, and some reserve. */
const longestLineBytes = 32 * 2 ** 20;

/**
 * Writes a backup (0600). An older file of that name is replaced once the new one is complete, checked and flushed to disk. Until then, and
 * when anything fails, the older file stays. `check` gets the name of the file that was written. Resolves with the result of `check`.
 */
export async function writeBackupFile<T>(
  file: string,
  { items, check }: { readonly items: AsyncIterable<BackupItem>; readonly check: (written: string) => Promise<T> },
): Promise<T> {
  const replacement = openReplacement(file, { mode: 0o600 });
  let found: T;
  try {
    const lines = Readable.from(formatBackup(items), { objectMode: true });
    await pipeline(lines, createGzip(), async (compressed: AsyncIterable<Buffer>) => {
      for await (const bytes of compressed) replacement.write(bytes);
    });
    found = await check(replacement.temporary);
  } catch (error) {
    replacement.discard();
    throw error;
  }
  replacement.commit();
  return found;
}

/** The items of a backup, see `parseBackup`. Throws DamagedBackup, and the system's errors. */
export const readBackupFile = (file: string): AsyncIterable<BackupItem> => parseBackup(linesOf(file));

/**
 * Reads a whole backup, and returns what the backup says about itself. Throws DamagedBackup when it is not what was written, the system's
 * errors, and the reason of `signal` when that aborts.
 */
export async function verifyBackupFile(
  file: string,
  signal?: AbortSignal,
): Promise<{ readonly header: BackupHeader; readonly files: number; readonly objects: number }> {
  let header: BackupHeader | undefined;
  const count = { file: 0, object: 0 };
  for await (const item of readBackupFile(file)) {
    signal?.throwIfAborted();
    if (item.type === "header") ({ header } = item);
    else count[item.type] += 1;
  }
  if (header === undefined) throw new DamagedBackup("it is empty");
  return { header, files: count.file, objects: count.object };
}

async function* linesOf(file: string): AsyncIterable<string> {
  const tooLong = () => new DamagedBackup("it is not a backup of Signet: a line is too long");
  for await (const { bytes, isWhole } of splitLines(uncompressed(file), { maximumBytes: longestLineBytes, tooLong })) {
    if (!isWhole) throw new DamagedBackup("it was not written or copied to the end");
    yield bytes.toString("utf8");
  }
}

async function* uncompressed(file: string): AsyncIterable<Buffer> {
  const status = statSync(file);
  // Opening a pipe may wait for ever, and Ctrl-C would not end the wait.
  if (!status.isFile() && !status.isDirectory()) {
    throw new DamagedBackup("it is a pipe, a device or a socket, but a backup is read twice", {
      advice: "write it to a file",
    });
  }
  const source = createReadStream(file);
  const gunzip = createGunzip();
  // A pipe does not pass errors on: without this, the reader below would wait for ever.
  source.on("error", (error) => gunzip.destroy(error));
  try {
    for await (const bytes of source.pipe(gunzip)) yield bytes as Buffer; // zlib's streams give Buffers
  } catch (error) {
    const code = errorCode(error);
    if (!code.startsWith("Z_")) throw error;
    const reason =
      code === "Z_BUF_ERROR" ? "it was not written or copied to the end" : "it is not a backup, or damaged";
    throw new DamagedBackup(reason, { cause: error });
  } finally {
    source.destroy();
  }
}
