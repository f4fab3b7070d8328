import type { Database } from "lmdb";
import { messageOf } from "../../api/thrown-error.ts";
import { StoreDamaged, StoreUnavailable } from "../store.ts";
import { encodeRevision, isIntact } from "./lmdb-records.ts";

/** LMDB's errors for pages that do not match the pages that point to them. */
const damageErrors = ["MDB_CORRUPTED", "MDB_PAGE_NOTFOUND"];

/** Converts an error of LMDB that reports a damaged file. Undefined for other errors. */
export function damageOf(cause: unknown): StoreDamaged | undefined {
  if (cause instanceof StoreDamaged) return cause;
  const message = messageOf(cause);
  return damageErrors.some((error) => message.startsWith(error)) ? new StoreDamaged(message, { cause }) : undefined;
}

/** What to tell people of MDB_BAD_TXN, which LMDB reports after a read or a write that has failed. Undefined for other messages. */
export const badTransactionText = (message: string): string | undefined =>
  message.startsWith("MDB_BAD_TXN") ? `signet doctor looks for damage of the store (${message})` : undefined;

/** Whether an error says that LMDB refuses everything from now on, also reads. */
export const isPanic = (cause: unknown): boolean => messageOf(cause).includes("MDB_PANIC");

/** Converts an error of a read. LMDB reports MDB_BAD_TXN for all reads after one that has failed, and often also for that one. */
export function failureOfRead(cause: unknown): unknown {
  const text = isPanic(cause)
    ? "its disk failed in a write, and the process ends"
    : badTransactionText(messageOf(cause));
  return text === undefined ? (damageOf(cause) ?? cause) : new StoreUnavailable(text, { cause });
}

/** Calls `read`, and converts its errors with `failureOfRead`. */
export function orFailure<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw failureOfRead(cause);
  }
}

/**
 * Returns the record of a write, in lmdb's own buffer, which the next read overwrites. Undefined when the log does not have it. Throws
 * StoreDamaged, with the key in the message, when the record does not match its checksum.
 */
export function recordAt(
  log: Pick<Database<Buffer, Buffer>, "getBinaryFast">,
  { revision, key }: { readonly revision: number; readonly key: string },
): Buffer | undefined {
  const shared = log.getBinaryFast(encodeRevision(revision));
  if (shared === undefined || isIntact(shared)) return shared;
  throw changedWrite(key);
}

/** The error for a record that does not match its checksum. */
export const changedWrite = (of: string): StoreDamaged =>
  new StoreDamaged(`the write of ${of} is not as it was written`);
