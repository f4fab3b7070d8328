import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { checkReplaceable, flushFolder, replaceLink, writeFileAtomically } from "../../machinery/files/atomic-file.ts";
import { isUnfinishedFile } from "../../machinery/files/unfinished-files.ts";
import type { FileOwnership } from "../../machinery/files/file-ownership.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { makeFolder } from "../../machinery/files/folders/make-folder.ts";
import { makeGuardedFolder } from "../../machinery/files/folders/make-guarded-folder.ts";
import { UnusableFile, asUnusableFile } from "../../machinery/files/unusable-file.ts";

// Several files that change at the same moment, as in the volumes of Kubernetes. Each name in the folder is a link that goes through the
// link `..data` into a folder of the newest version. One rename makes `..data` lead to the next version.

const currentLink = "..data";
const versionPattern = /^\.\.\d{4}-[\d-]+\.[0-9a-f]{8}$/;

interface VersionedFiles {
  /** The contents by the names of the files. */
  readonly contents: ReadonlyMap<string, Buffer>;
  readonly ownership: FileOwnership;
}

/** Whether these names are links into the newest version. */
export const hasLinks = (folder: string, names: Iterable<string>): boolean =>
  [...names].every((name) => linkTarget(join(folder, name)) === `${currentLink}/${name}`);

/** Writes the next version of a folder's files. The previous version stays, because programs may be reading it. Throws UnusableFile. */
export function writeVersion(folder: string, files: VersionedFiles): void {
  try {
    makeGuardedFolder(folder, { mode: 0o755, uid: files.ownership.uid });
    inHeldFolder(folder, (held) => writeInto(held, files));
  } catch (error) {
    throw asUnusableFile(`cannot write to ${folder}`, error);
  }
}

/**
 * Calls `write` with a path that stays this folder: the owner of the files may own a folder above it too, and put another one in its place
 * meanwhile. Only Linux has such paths.
 */
function inHeldFolder(folder: string, write: (held: string) => void): void {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  const held = `/proc/self/fd/${descriptor}`;
  try {
    write(existsSync(held) ? held : folder);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw new UnusableFile(error.message.replaceAll(held, folder), { cause: error.cause });
  } finally {
    closeSync(descriptor);
  }
}

function writeInto(folder: string, files: VersionedFiles): void {
  const names = new Set(files.contents.keys());
  checkFolder(folder, names);
  const previous = linkTarget(join(folder, currentLink));
  const version = `..${new Date().toISOString().replaceAll(/[:.T]/g, "-").slice(0, -1)}.${randomBytes(4).toString("hex")}`;
  makeCurrent(folder, { ...files, version });
  for (const name of names) makeLink(folder, name);
  removeOthers(folder, { names, versions: [version, previous] });
  flushFolder(folder);
}

function makeCurrent(
  folder: string,
  { version, contents, ownership }: VersionedFiles & { readonly version: string },
): void {
  try {
    makeFolder(join(folder, version), { mode: 0o755 });
    for (const [name, bytes] of contents) {
      const options = { contents: bytes, ...ownership, isOwnershipKept: true, knownAs: join(folder, name) };
      writeFileAtomically(join(folder, version, name), options);
    }
    replaceLink(join(folder, currentLink), version);
  } catch (error) {
    // Each retry makes a new folder, with keys in it.
    if (linkTarget(join(folder, currentLink)) !== version) {
      rmSync(join(folder, version), { recursive: true, force: true });
    }
    throw error;
  }
}

function makeLink(folder: string, name: string): void {
  const target = `${currentLink}/${name}`;
  const link = join(folder, name);
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(target, link);
  else if (linkTarget(link) !== target) replaceLink(link, target);
}

/** Removes what earlier writes left: other versions, links with other names, and unfinished files. */
function removeOthers(
  folder: string,
  { names, versions }: { readonly names: ReadonlySet<string>; readonly versions: readonly (string | undefined)[] },
): void {
  for (const name of readdirSync(folder)) {
    const isOldVersion = versionPattern.test(name) && !versions.includes(name);
    const isOldLink = linkTarget(join(folder, name))?.startsWith(`${currentLink}/`) === true && !names.has(name);
    if (isOldVersion || isOldLink || isUnfinishedFile(name)) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}

/**
 * Throws UnusableFile for a folder that another user can write to, because that user could choose where a key is written, and for a folder
 * with something in it that no link can replace.
 */
export function checkFolder(folder: string, names: Iterable<string>): void {
  for (const name of names) checkReplaceable(join(folder, name));
  const current = join(folder, currentLink);
  if (lstatSync(current, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new UnusableFile(`${current} is a folder where a link has to be; remove it, or name another folder`);
  }
  const { uid, mode } = statSync(folder);
  const user = process.getuid?.();
  if (user === undefined) return; // Windows has no file modes
  if ((uid !== user && uid !== 0) || (mode & 0o022) !== 0) {
    throw new UnusableFile(
      `${folder} can be changed by other users: it must belong to the agent's user, with mode 0755 or less`,
    );
  }
}
