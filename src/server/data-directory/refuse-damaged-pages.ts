import { closeSync, openSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { asUnusableFile, UnusableFile } from "../../machinery/files/unusable-file.ts";
import { findDamagedPage } from "../../machinery/storage/backends/find-damaged-page.ts";
import type { FoundPage } from "../../machinery/storage/backends/find-damaged-page.ts";
import { newestMeta, openedFile } from "../../machinery/storage/backends/is-whole-lmdb-file.ts";
import { openingLockIn, storeBytes, storeFileIn } from "../../machinery/storage/backends/lmdb-files.ts";
import { OpeningLock } from "../../machinery/storage/backends/opening-lock.ts";
import { storeDirectory } from "./data-directory-places.ts";

/** So much of a file may be read before each use, and while commits wait: a longer one takes too long, and commits fail after ten seconds. */
const readSoon = 64 * 2 ** 20;

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
  const suspected = damagedPageIn(directory, { maximumBytes: purpose === "use" ? readSoon : Infinity });
  if (suspected === undefined) return;
  const opening = new OpeningLock(openingLockIn(directory));
  try {
    // When another process has written meanwhile, only a second look, while none writes, is certain.
    const found = opening.open(() => damagedPageIn(directory, { maximumBytes: readSoon, suspected }));
    if (found === undefined || (purpose === "backup" && found.part !== "objects")) return;
    throw new UnusableFile(`${storeFileIn(directory)} is damaged (page ${found.page}); ${advice[found.part]}`);
  } finally {
    opening.release();
  }
}

const advice = {
  objects: "restore a backup (signet restore)",
  "free list": "all objects can be read: make a backup of it (signet backup), and restore that",
  "last transaction": "the last writes may be missing: make a backup of the rest (signet backup), and restore that",
} as const;

function damagedPageIn(
  directory: string,
  { maximumBytes, suspected }: { readonly maximumBytes: number; readonly suspected?: FoundPage },
): FoundPage | undefined {
  const path = storeFileIn(directory);
  try {
    const bytes = storeBytes(directory) ?? 0;
    if (bytes === 0) return undefined;
    const descriptor = openSync(path, "r");
    try {
      const file = openedFile(descriptor);
      // The two numbers of transactions may have been read at different times, so they are always read again.
      const isCertain = suspected !== undefined && suspected.part !== "last transaction";
      if (isCertain && isDeepStrictEqual(newestMeta(file), suspected.meta)) return suspected;
      return findDamagedPage(file, { readsLog: bytes <= maximumBytes });
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw asUnusableFile(`cannot use ${path}`, error);
  }
}
