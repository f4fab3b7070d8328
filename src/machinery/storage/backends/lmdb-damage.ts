import type { Database } from "lmdb";
import { messageOf } from "../../api/thrown-error.ts";
import { StoreDamaged } from "../store.ts";
import { encodeRevision, isIntact } from "./lmdb-records.ts";

/** LMDB's errors for pages that do not match the pages that point to them. */
const damageErrors = ["MDB_CORRUPTED", "MDB_PAGE_NOTFOUND"];

/** What an error of LMDB says of the file. Undefined: not that it is damaged. */
export function damageOf(cause: unknown): StoreDamaged | undefined {
  if (cause instanceof StoreDamaged) return cause;
  const message = messageOf(cause);
  return damageErrors.some((error) => message.startsWith(error)) ? new StoreDamaged(message, { cause }) : undefined;
}

/** Reads. Throws StoreDamaged where LMDB finds the file damaged. */
export function orDamaged<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw damageOf(cause) ?? cause;
  }
}

/**
 * The record of a write, in lmdb's own buffer, which the next read overwrites. Undefined: the log does not have it. Throws StoreDamaged
 * where it is not as it was written; `key` is what the message then names.
 */
export function recordAt(
  log: Pick<Database<Buffer, Buffer>, "getBinaryFast">,
  { revision, key }: { readonly revision: number; readonly key: string },
): Buffer | undefined {
  const shared = log.getBinaryFast(encodeRevision(revision));
  if (shared === undefined || isIntact(shared)) return shared;
  throw changedWrite(key);
}

/** The checksum of a record is not that of its bytes. */
export const changedWrite = (of: string): StoreDamaged =>
  new StoreDamaged(`the write of ${of} is not as it was written`);
