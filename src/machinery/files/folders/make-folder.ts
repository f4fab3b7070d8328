import { mkdirSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { errorCode } from "../../api/thrown-error.ts";
import { flushFolder } from "../atomic-file.ts";
import { UnusableFile } from "../unusable-file.ts";

interface MakeFolderOptions {
  readonly mode: number;
  /** Called when the folder exists, before it is flushed: that may take long, and the process may be killed there. */
  readonly beforeFlush?: () => void;
}

/**
 * Creates a folder and its missing parents with this mode, regardless of the umask. They survive a power cut. Throws the system's error.
 * Throws UnusableFile for a missing folder named `~`, which comes from a file of settings or from `--data-dir=~/x`, and for a link to a
 * missing folder. Node.js's own `recursive` loops forever if the system says that the parent folder does not exist, as in /proc.
 */
export function makeFolder(path: string, { mode, beforeFlush = () => {} }: MakeFolderOptions): void {
  const missing: string[] = [];
  for (let folder = resolve(path); isMissing(folder); folder = dirname(folder)) missing.unshift(folder);
  if (missing.some((folder) => basename(folder) === "~")) {
    throw new UnusableFile(
      `${path}: only a shell replaces ~, and only at the beginning of a word: write the whole path`,
    );
  }
  // Not with chmod, because users who can write to the parent folder could replace the new folder by a link before.
  const umask = process.umask(0);
  try {
    for (const folder of missing) makeIfAbsent(folder, mode);
  } finally {
    process.umask(umask);
  }
  beforeFlush();
  for (const folder of missing) flushIfReadable(dirname(folder));
}

/** A folder in which this user may make files, but which it may not list, cannot be flushed. */
function flushIfReadable(folder: string): void {
  try {
    flushFolder(folder);
  } catch (error) {
    if (errorCode(error) !== "EACCES") throw error;
  }
}

const isMissing = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false }) === undefined && dirname(path) !== path;

function makeIfAbsent(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process has created it at the same moment.
    if (errorCode(error) !== "EEXIST") throw error;
    if (isMissing(folder)) throw new UnusableFile(linkToNothing(folder));
  }
}

/** The message about a symbolic link to a folder that does not exist. */
export const linkToNothing = (path: string): string =>
  `${path} is a link to a folder that does not exist; make that folder, or name another`;
