import { messageOf } from "../../api/thrown-error.ts";
import { StoreDamaged } from "../store.ts";

/** LMDB's errors for pages that are not what the pages that name them say. */
const damageErrors = ["MDB_CORRUPTED", "MDB_PAGE_NOTFOUND"];

/** Reads. Throws StoreDamaged where LMDB finds the file damaged. */
export function orDamaged<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const message = messageOf(cause);
    throw damageErrors.some((error) => message.startsWith(error)) ? new StoreDamaged(message, { cause }) : cause;
  }
}
