import { existsSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { flushFolder } from "../machinery/files/atomic-file.ts";
import { UnusableFile } from "../machinery/files/unusable-file.ts";
import { storeDirectory } from "./lock-data-directory.ts";

const movedPrefix = "store.moved-";

/** Lets no server use the directory's store any more: its objects, up to a revision, are elsewhere. */
export function markStoreMoved(dataDirectory: string, revision: number): void {
  renameSync(storeDirectory(dataDirectory), join(dataDirectory, `${movedPrefix}${revision}`));
  flushFolder(dataDirectory);
}

/** Throws UnusableFile when the directory had a store that was moved: a new one would be a second truth. */
export function refuseMovedStore(dataDirectory: string): void {
  if (existsSync(storeDirectory(dataDirectory)) || !existsSync(dataDirectory)) return;
  const moved = readdirSync(dataDirectory).find((name) => name.startsWith(movedPrefix));
  if (moved === undefined) return;
  throw new UnusableFile(
    `its objects were moved to etcd: give --etcd-servers; or, to go back to what they were before, rename ` +
      `${join(dataDirectory, moved)} to store`,
  );
}
