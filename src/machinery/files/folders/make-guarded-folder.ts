import { checkParentFolders } from "./check-parent-folders.ts";
import { makeFolder } from "./make-folder.ts";

interface GuardedFolderOptions {
  readonly mode: number;
  /** This user may replace the folder too. */
  readonly uid?: number | undefined;
}

/** Creates a folder as `makeFolder`, unless another user could replace it. Throws UnusableFile as `checkParentFolders`. */
export function makeGuardedFolder(folder: string, { mode, uid }: GuardedFolderOptions): void {
  checkParentFolders(folder, { uid });
  makeFolder(folder, { mode });
  // In a sticky folder, another user may have put a link in the place of a missing folder since the first check.
  checkParentFolders(folder, { uid, mustExist: true });
}
