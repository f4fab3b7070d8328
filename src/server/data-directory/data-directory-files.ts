import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import type { Stats } from "node:fs";
import { dirname, join } from "node:path";
import { firstKeyFiles } from "../../features/accounts/keys/open-token-keys.ts";
import {
  authorityFileName,
  serverAuthorityName,
} from "../../features/certificates/authorities/data-directory-authorities.ts";
import { generatedAuthoritiesFolder } from "../../features/certificates/authorities/generated-authorities.ts";
import { wellKnownSigners } from "../../features/certificates/signers/well-known-signers.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { readRegularFile } from "../../machinery/files/regular-file.ts";
import { sealingKeyFile } from "../../machinery/keys/sealing-key.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { isKeptFile } from "../backup/backup-format.ts";
import type { BackupFileEntry } from "../backup/backup-format.ts";

/**
 * The folders with the files that a server cannot make again: its CAs, its signers' CAs, and the keys of its tokens. Files that it makes
 * from these at its start (its own certificate, the administrator's kubeconfig) do not count.
 */
const folders = ["", generatedAuthoritiesFolder];
const largestFileBytes = 2 ** 20;

const isKey = (file: string): boolean => file.endsWith(".key");

/**
 * The files of a data directory that a backup contains. Links to files are followed. Throws UnusableFile for anything in place of a file:
 * the backup would lack it, and in place of a link that leads nowhere a server would make a new key.
 */
export function dataDirectoryFiles(directory: string): { readonly certificates: string[]; readonly keys: string[] } {
  const [irregular] = irregularFiles(directory);
  if (irregular !== undefined)
    throw new UnusableFile(`${irregular.path} is ${irregular.kind}: put back the file, or remove what is there`);
  const files = keptNames(directory).filter((file) => fileStatus(join(directory, file))?.isFile());
  return { certificates: files.filter((file) => !isKey(file)), keys: files.filter(isKey) };
}

/** Something that is not a regular file, in place of a key or of a certificate. No server starts with it. */
interface IrregularFile {
  readonly path: string;
  /** What it is: a folder, a link that leads nowhere. */
  readonly kind: string;
}

export const irregularFiles = (directory: string): IrregularFile[] =>
  keptNames(directory).flatMap((file) => {
    const path = join(directory, file);
    const kind = kindOf(path, { isOwn: isOwnFile(file) });
    return kind === undefined ? [] : [{ path, kind }];
  });

/**
 * Whether a server reads the file: one of its own names, or any name in its folder of signers. A folder with another name belongs to
 * somebody else.
 */
const isOwnFile = (file: string): boolean => dirname(file) === generatedAuthoritiesFolder || ownFiles.has(file);

const ownFiles: ReadonlySet<string> = new Set([
  ...[serverAuthorityName, ...wellKnownSigners.map(({ shortName }) => authorityFileName(shortName))].flatMap((name) => [
    `${name}.crt`,
    `${name}.key`,
  ]),
  ...Object.values(firstKeyFiles),
  sealingKeyFile,
  "encryption.key",
  "audit-log.key",
  "client-authorities.json",
]);

const fileStatus = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** What a path is instead of a file. Undefined: it is a file, or is missing. A circular link counts as one that leads nowhere. */
function kindOf(path: string, { isOwn }: { readonly isOwn: boolean }): string | undefined {
  if (existsSync(path))
    return !isOwn || fileStatus(path)?.isFile() !== false ? undefined : "a folder, a pipe or a device";
  return linkTarget(path) === undefined ? undefined : "a link that leads nowhere";
}

const keptNames = (directory: string): string[] => namesIn(directory, folders).filter(isKeptFile).toSorted();

/** The paths of the entries of some folders of a directory. Missing folders are left out. */
export const namesIn = (directory: string, among: readonly string[]): string[] =>
  among
    .filter((folder) => existsSync(join(directory, folder)))
    .flatMap((folder) => readdirSync(join(directory, folder)).map((name) => join(folder, name)));

/** Reads a file for a backup. Throws UnusableFile for a file of more than 1 MiB. */
export function readEntry(directory: string, file: string): BackupFileEntry {
  const path = join(directory, file);
  const read = readRegularFile(path, { largestBytes: largestFileBytes });
  if (read === undefined) throw new UnusableFile(`${path} is larger than 1 MiB: move it out of the data directory`);
  return { file, text: read.contents.toString("utf8") };
}

/** Writes a file of a backup (0600) into a folder. The name was checked with `isKeptFile` when the backup was read. */
export function writeEntry(directory: string, { file, text }: BackupFileEntry): void {
  const path = join(directory, file);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writePrivateFile(path, text);
}
