import { checkParentFolders } from "./check-parent-folders.ts";
import { ownFolder } from "./owned-folder.ts";
import type { OwnedFolder } from "./owned-folder.ts";

/**
 * Takes ownership of a folder as `ownFolder` does, unless another user could put another folder in its place. `beforeLock` is that of
 * `ownFolder`. Throws UnusableFile.
 */
export function ownGuardedFolder(folder: string, beforeLock: () => void = () => {}): OwnedFolder {
  checkParentFolders(folder, {});
  return ownFolder(folder, {
    beforeLock() {
      checkParentFolders(folder, { mustExist: true }); // it may have been missing before
      beforeLock();
    },
  });
}
