import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { flushFolder, writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { storeDirectory } from "./data-directory-places.ts";

// The marks that a move between a data directory's own store and etcd leaves there, so that no server begins with an empty or an old store.

const movedPrefix = "store.moved-";

/** Takes the directory's store out of use: its objects, up to a revision, are now elsewhere. */
export function markStoreMoved(dataDirectory: string, revision: number): void {
  renameSync(storeDirectory(dataDirectory), join(dataDirectory, `${movedPrefix}${revision}`));
  flushFolder(dataDirectory);
}

/** The mark that the objects of the directory's server are in etcd. A server that is started without etcd would begin with nothing. */
const inEtcdMark = (dataDirectory: string): string => join(dataDirectory, "store.in-etcd");

/** Forbids servers to use a store in the directory. Throws UnusableFile. */
export function markInEtcd(dataDirectory: string): void {
  const mark = inEtcdMark(dataDirectory);
  if (!existsSync(mark)) writePrivateFile(mark, "");
}

/** Permits servers to use a store in the directory again. */
export const unmarkInEtcd = (dataDirectory: string): void => rmSync(inEtcdMark(dataDirectory), { force: true });

/** The folder in which a move from etcd makes the new store. It is renamed when it is complete. */
export const unfinishedStore = (dataDirectory: string): string => join(dataDirectory, "store.new");

/**
 * Throws UnusableFile when the directory's objects are in etcd, or when a move to or from etcd was interrupted. A new or an old store in
 * the directory would be a second copy, which does not know what was revoked in the first.
 */
export function refuseMovedStore(dataDirectory: string): void {
  const mark = inEtcdMark(dataDirectory);
  const store = storeDirectory(dataDirectory);
  if (existsSync(store)) {
    if (!existsSync(mark)) return;
    throw new UnusableFile(
      `a move of its objects between ${store} and etcd broke off: give --etcd-servers; or, where etcd refuses that, remove ${mark} ` +
        "to use that store",
    );
  }
  if (!existsSync(dataDirectory)) return;
  const unfinished = unfinishedStore(dataDirectory);
  if (existsSync(unfinished)) {
    throw new UnusableFile(
      `a move of its objects from etcd broke off: give --etcd-servers, or remove ${unfinished} and move them again ` +
        "(signet storage migrate)",
    );
  }
  const moved = readdirSync(dataDirectory).find((name) => name.startsWith(movedPrefix));
  if (moved !== undefined) {
    throw new UnusableFile(
      `its objects were moved to etcd: give --etcd-servers; or, to go back to what they were before, rename ` +
        `${join(dataDirectory, moved)} to store, without store.in-etcd beside it`,
    );
  }
  if (!existsSync(mark)) return;
  throw new UnusableFile(`its objects are in etcd: give --etcd-servers; or, to begin with nothing, remove ${mark}`);
}
