import { closeSync, openSync } from "node:fs";
import { fileFailureReason, UnusableFile } from "../../machinery/files/unusable-file.ts";
import { findDamagedPage } from "../../machinery/storage/backends/find-damaged-page.ts";
import { openedFile } from "../../machinery/storage/backends/is-whole-lmdb-file.ts";
import { openingLockIn, storeBytes, storeFileIn } from "../../machinery/storage/backends/lmdb-files.ts";
import { OpeningLock } from "../../machinery/storage/backends/opening-lock.ts";
import { storeDirectory } from "./data-directory-places.ts";

/** Before each use, so much of a file may be read: a longer one takes too long. */
const readBeforeUse = 64 * 2 ** 20;

/**
 * Throws UnusableFile when the structure of a data directory's own store is damaged so that reads, or writes, may go wrong, and when the
 * system can't read its file. Throws when other processes hold the opening lock too long. Other processes may use the store. `use`: by a
 * server or a command, which may write. Does not look at all pages of a large store. `backup`: damage that does not matter to reads is none.
 */
export function refuseDamagedPages(
  dataDirectory: string,
  { purpose }: { readonly purpose: "use" | "backup" | "doctor" },
): void {
  const directory = storeDirectory(dataDirectory);
  // Another process may have written meanwhile: then only a second look, while none writes, is certain.
  const find = () => damagedPageIn(directory, { maximumBytes: purpose === "use" ? readBeforeUse : Infinity });
  if (find() === undefined) return;
  const opening = new OpeningLock(openingLockIn(directory));
  try {
    const found = opening.open(find);
    if (found === undefined || (purpose === "backup" && found.isOfFreeList)) return;
    const advice = found.isOfFreeList
      ? "all objects can be read: make a backup of it (signet backup), and restore that"
      : "restore a backup (signet restore)";
    throw new UnusableFile(`${storeFileIn(directory)} is damaged (page ${found.page}); ${advice}`);
  } finally {
    opening.release();
  }
}

function damagedPageIn(
  directory: string,
  { maximumBytes }: { readonly maximumBytes: number },
): ReturnType<typeof findDamagedPage> {
  const path = storeFileIn(directory);
  try {
    const bytes = storeBytes(directory) ?? 0;
    if (bytes === 0) return undefined;
    const descriptor = openSync(path, "r");
    try {
      return findDamagedPage(openedFile(descriptor), { readsLog: bytes <= maximumBytes });
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw new UnusableFile(`cannot use ${path}: ${fileFailureReason(cause)}`, { cause });
  }
}
