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
 * What a server cannot make again: its CAs, those of its signers, and the keys of its tokens. What it makes from these at
 * its start (its own certificate, the administrator's kubeconfig) is not among them.
 */
const folders = ["", generatedAuthoritiesFolder];
const largestFileBytes = 2 ** 20;

const isKey = (file: string): boolean => file.endsWith(".key");

/**
 * The files of a data directory that a backup holds, also where links lead to them. Throws UnusableFile for what is no file: a backup
 * would be without it, and where a link leads nowhere a server would make another key in its place.
 */
export function dataDirectoryFiles(directory: string): { readonly certificates: string[]; readonly keys: string[] } {
  const [odd] = filesThatAreNone(directory);
  if (odd !== undefined)
    throw new UnusableFile(`${odd.path} is ${odd.kind}: put back the file, or remove what is there`);
  const files = keptNames(directory).filter((file) => fileStatus(join(directory, file))?.isFile());
  return { certificates: files.filter((file) => !isKey(file)), keys: files.filter(isKey) };
}

/** What is in place of a key or of a certificate. No server starts with one. */
interface NoFile {
  readonly path: string;
  /** What it is instead. */
  readonly kind: string;
}

export const filesThatAreNone = (directory: string): NoFile[] =>
  keptNames(directory).flatMap((file) => {
    const path = join(directory, file);
    const kind = kindOf(path, { isOwn: isOwnFile(file) });
    return kind === undefined ? [] : [{ path, kind }];
  });

/** What a server reads in a data directory, and what is in its folder of signers. A folder of another name is somebody else's. */
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

/** Undefined: a file, or nothing any more. A link in a circle leads nowhere, too. */
function kindOf(path: string, { isOwn }: { readonly isOwn: boolean }): string | undefined {
  if (existsSync(path))
    return !isOwn || fileStatus(path)?.isFile() !== false ? undefined : "a folder, a pipe or a device";
  return linkTarget(path) === undefined ? undefined : "a link that leads nowhere";
}

const keptNames = (directory: string): string[] => namesIn(directory, folders).filter(isKeptFile).toSorted();

/** The paths in a directory of what is in its folders. Folders that are missing are left out. */
export const namesIn = (directory: string, among: readonly string[]): string[] =>
  among
    .filter((folder) => existsSync(join(directory, folder)))
    .flatMap((folder) => readdirSync(join(directory, folder)).map((name) => join(folder, name)));

/** Throws UnusableFile for a file of more than 1 MiB. */
export function readEntry(directory: string, file: string): BackupFileEntry {
  const path = join(directory, file);
  const read = readRegularFile(path, { largestBytes: largestFileBytes });
  if (read === undefined) throw new UnusableFile(`${path} is larger than 1 MiB: move it out of the data directory`);
  return { file, text: read.contents.toString("utf8") };
}

/** Writes a file of a backup (0600) below a folder. Its name is one of `isKeptFile`: that was checked when it was read. */
export function writeEntry(directory: string, { file, text }: BackupFileEntry): void {
  const path = join(directory, file);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writePrivateFile(path, text);
}
