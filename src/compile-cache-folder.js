import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

// JavaScript, because it runs before anything that reads TypeScript is loaded: see main.js.

/**
 * The folder for compiled code: `$XDG_CACHE_HOME/signet/compile-cache`, else `~/.cache/signet/compile-cache`, made when it is
 * missing. A user who can write there decides what this process runs. So it is undefined, and the program starts without a
 * cache, unless the folder is this user's, closed to everybody else (0700) and no link, and only this user and root
 * can exchange it or a folder above it.
 *
 * @returns {string | undefined}
 */
export function compileCacheFolder() {
  const { XDG_CACHE_HOME: cacheHome } = process.env;
  try {
    const [base, ...names] =
      cacheHome !== undefined && isAbsolute(cacheHome)
        ? [cacheHome, "signet", "compile-cache"]
        : [homedir(), ".cache", "signet", "compile-cache"]; // throws for a user without a name, as in a container
    let folder = realpathSync(base);
    if (!isOutOfOthersReach(folder)) return undefined;
    // One at a time: each is made in a folder that was looked at, so that no link can lead it elsewhere.
    for (const name of names) {
      folder = join(folder, name);
      makeIfMissing(folder);
      if (!isOwnFolder(folder)) return undefined;
    }
    return (lstatSync(folder).mode & 0o077) === 0 ? folder : undefined;
  } catch {
    return undefined; // no home, a read-only one: a slower start is no failure
  }
}

/** Whether only root and this user can put something else in the place of a folder, or into it. */
function isOutOfOthersReach(folder) {
  const { uid, mode } = lstatSync(folder);
  if (!isTrusted(uid) || (mode & 0o022) !== 0) return false;
  for (let child = folder, parent = dirname(child); parent !== child; child = parent, parent = dirname(child)) {
    const above = lstatSync(parent);
    const isSticky = (above.mode & 0o1000) !== 0; // who may write there may not rename what is another's
    if (!isTrusted(above.uid) || ((above.mode & 0o022) !== 0 && !isSticky)) return false;
  }
  return true;
}

const isTrusted = (uid) => uid === 0 || uid === process.getuid?.();

function makeIfMissing(folder) {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
}

function isOwnFolder(folder) {
  const status = lstatSync(folder);
  return status.isDirectory() && status.uid === process.getuid?.() && (status.mode & 0o022) === 0;
}
