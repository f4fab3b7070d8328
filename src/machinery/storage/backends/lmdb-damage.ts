import { messageOf } from "../../api/thrown-error.ts";
import { StoreUnavailable } from "../store.ts";

/** LMDB's errors for pages that are not what the pages that name them say. */
const damageErrors = ["MDB_CORRUPTED", "MDB_PAGE_NOTFOUND"];

/** Reads. Throws StoreUnavailable, which says what to do, where LMDB finds the file damaged. */
export function orDamaged<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const message = messageOf(cause);
    throw damageErrors.some((error) => message.startsWith(error)) ? damaged(message, { cause }) : cause;
  }
}

/** The file lacks what it must have. */
export const damaged = (found: string, options?: ErrorOptions): StoreUnavailable =>
  new StoreUnavailable(`the store's file is damaged (${found}); restore a backup (signet restore)`, options);
