import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import type { Stats } from "node:fs";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import { UnusableFile, asUnusableFile } from "../unusable-file.ts";

interface ParentFolderOptions {
  /** This user may replace the folder too. */
  readonly uid?: number | undefined;
  /** Default: missing parts of the path are skipped. */
  readonly mustExist?: boolean;
}

/**
 * Throws UnusableFile when another user could replace a folder: a user who can rename a folder above it, or who owns a link of its path,
 * could put another folder or a link in its place. Root, the process's own user and `uid` are allowed to (sshd: `StrictModes`), and groups
 * too, because many systems give each user a group of its own. The owner of `/` counts as root: in a user namespace without root, such as
 * systemd makes for a user's own units, all other users have one number (user_namespaces(7)).
 */
export function checkParentFolders(folder: string, { uid, mustExist = false }: ParentFolderOptions): void {
  const user = process.geteuid?.();
  if (user === undefined) return; // Windows has no file modes
  try {
    checkSteps(folder, { trusted: new Set([0, lstatSync("/").uid, user, uid]), mustExist });
  } catch (error) {
    throw asUnusableFile(folder, error);
  }
}

function checkSteps(
  folder: string,
  { trusted, mustExist }: { readonly trusted: ReadonlySet<number | undefined>; readonly mustExist: boolean },
): void {
  const itself = existsSync(folder) ? realpathSync.native(folder) : undefined;
  for (const { path, status } of wayTo(resolve(folder), new Set())) {
    if (status === undefined) {
      if (mustExist) throw new UnusableFile(`${path} has just been removed; let no other program remove it`);
      continue;
    }
    // The owner of the folder itself can move it only if all users may write to its parent folder.
    const isMovable = path !== itself || isOpenToAll(lstatSync(dirname(path)));
    if (isMovable && !trusted.has(status.uid)) {
      throw new UnusableFile(
        `${path} belongs to another user (uid ${status.uid}), who could put something else in the place of ${folder}; ` +
          "chown it, or name a folder elsewhere",
      );
    }
    if (path !== itself && isOpenToAll(status) && (status.mode & sticky) === 0) {
      throw new UnusableFile(
        `${path} can be changed by all users, who could put something else in the place of ${folder}; ` +
          `chmod o-w it, or name a folder elsewhere`,
      );
    }
  }
}

const isOpenToAll = (status: Stats): boolean => status.isDirectory() && (status.mode & 0o002) !== 0;

/** The sticky bit: in a folder with it, only the owner of a file may rename the file. */
const sticky = 0o1000;

interface Step {
  readonly path: string;
  /** Undefined: nothing is there. */
  readonly status: Stats | undefined;
}

/** The folders and links that lead to a path, then the path itself. In a link, `..` leaves the folder to which a link before it leads. */
function* wayTo(path: string, seen: Set<string>): Iterable<Step> {
  const above = dirname(path);
  if (above !== path) yield* wayTo(above, seen);
  const place = existsSync(above) ? resolve(realpathSync.native(above), basename(path)) : path;
  if (seen.has(place)) return;
  seen.add(place);
  const status = lstatSync(place, { throwIfNoEntry: false });
  yield { path: place, status };
  if (status?.isSymbolicLink() !== true) return;
  const target = readlinkSync(place);
  yield* wayTo(isAbsolute(target) ? target : `${dirname(place)}/${target}`, seen); // `join` would drop `link/..`
}
