import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { generatedAuthoritiesFolder } from "../../features/certificates/authorities/generated-authorities.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { isKeptFile } from "./backup-format.ts";
import type { BackupFileEntry } from "./backup-format.ts";

/**
 * What a server cannot make again: its CAs, those of its signers, and the keys of its tokens. What it makes from these at
 * its start (its own certificate, the administrator's kubeconfig) is not among them.
 */
const folders = ["", generatedAuthoritiesFolder];
const largestFileBytes = 2 ** 20;

const isKey = (file: string): boolean => file.endsWith(".key");

/**
 * The files of a data directory that a backup holds, also where links lead to them. Throws UnusableFile for a link that leads
 * nowhere: a server would make another key in its place.
 */
export function dataDirectoryFiles(directory: string): { readonly certificates: string[]; readonly keys: string[] } {
  const [dead] = deadLinks(directory);
  if (dead !== undefined)
    throw new UnusableFile(`${dead} is a link that leads nowhere: put back what it leads to, or remove it`);
  const files = keptNames(directory).filter((file) => isSmallFile(join(directory, file)));
  return { certificates: files.filter((file) => !isKey(file)), keys: files.filter(isKey) };
}

/** The paths of those that are links and lead nowhere, or in a circle: no server starts with one. */
export const deadLinks = (directory: string): string[] =>
  keptNames(directory)
    .map((file) => join(directory, file))
    .filter((path) => !existsSync(path) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true);

const keptNames = (directory: string): string[] =>
  folders
    .filter((folder) => existsSync(join(directory, folder)))
    .flatMap((folder) => readdirSync(join(directory, folder)).map((name) => join(folder, name)))
    .filter(isKeptFile)
    .toSorted();

function isSmallFile(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status !== undefined && status.isFile() && status.size <= largestFileBytes;
}

export const readEntry = (directory: string, file: string): BackupFileEntry => ({
  file,
  text: readFileSync(join(directory, file), "utf8"),
});

/** Writes a file of a backup (0600) below a folder. Its name is one of `isKeptFile`: that was checked when it was read. */
export function writeEntry(directory: string, { file, text }: BackupFileEntry): void {
  const path = join(directory, file);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writePrivateFile(path, text);
}
