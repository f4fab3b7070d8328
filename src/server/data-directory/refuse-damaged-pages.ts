import { closeSync, openSync } from "node:fs";
import { fileFailureReason, UnusableFile } from "../../machinery/files/unusable-file.ts";
import { findDamagedPage } from "../../machinery/storage/backends/find-damaged-page.ts";
import type { CheckedPages } from "../../machinery/storage/backends/find-damaged-page.ts";
import { openedFile } from "../../machinery/storage/backends/is-whole-lmdb-file.ts";
import { openingLockIn, storeBytes, storeFileIn } from "../../machinery/storage/backends/lmdb-files.ts";
import { OpeningLock } from "../../machinery/storage/backends/opening-lock.ts";
import { storeDirectory } from "./data-directory-places.ts";

interface DamageOptions {
  readonly use: "reads" | "writes";
  readonly pages: CheckedPages;
}

/**
 * Throws UnusableFile when the structure of a data directory's own store is damaged so that reads, or writes, may go wrong, and when the
 * system can't read its file. Throws when other processes hold the opening lock too long. Other processes may use the store.
 */
export function refuseDamagedPages(dataDirectory: string, { use, pages }: DamageOptions): void {
  const directory = storeDirectory(dataDirectory);
  // Another process may have written meanwhile: then only a second look, while none writes, is certain.
  if (damagedPageIn(directory, pages) === undefined) return;
  const opening = new OpeningLock(openingLockIn(directory));
  try {
    const found = opening.open(() => damagedPageIn(directory, pages));
    if (found === undefined || (use === "reads" && found.isOfFreeList)) return;
    const advice = found.isOfFreeList
      ? "all objects can be read: make a backup of it (signet backup), and restore that"
      : "restore a backup (signet restore)";
    throw new UnusableFile(`${storeFileIn(directory)} is damaged (page ${found.page}); ${advice}`);
  } finally {
    opening.release();
  }
}

function damagedPageIn(directory: string, pages: CheckedPages): ReturnType<typeof findDamagedPage> {
  const path = storeFileIn(directory);
  try {
    if ((storeBytes(directory) ?? 0) === 0) return undefined;
    const descriptor = openSync(path, "r");
    try {
      return findDamagedPage(openedFile(descriptor), pages);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw new UnusableFile(`cannot use ${path}: ${fileFailureReason(cause)}`, { cause });
  }
}
