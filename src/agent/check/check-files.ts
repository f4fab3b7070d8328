import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { checkReplaceable, openReplacement } from "../../machinery/files/atomic-file.ts";
import type { FileOwnership } from "../../machinery/files/file-ownership.ts";
import { checkParentFolders } from "../../machinery/files/folders/check-parent-folders.ts";
import { linkTarget } from "../../machinery/files/link-target.ts";
import { linkToNothing } from "../../machinery/files/folders/make-folder.ts";
import { checkOwnable } from "../../machinery/files/folders/owned-folder.ts";
import { removeFile } from "../../machinery/files/remove-file.ts";
import {
  asUnusableFile,
  fileFailureReason,
  linkFailureReason,
  UnusableFile,
} from "../../machinery/files/unusable-file.ts";
import { checkPlace, outputFolder } from "../files/certificate-output.ts";
import type { CertificateOutput } from "../files/certificate-output.ts";
import { readUsable, CertificateStore } from "../certificates/certificate-store.ts";
import { ok } from "./check-finding.ts";
import type { CheckFinding } from "./check-finding.ts";
import type { KeyPair } from "../certificates/key-pair.ts";
import { certificatesFolder } from "../certificates/managed-certificate.ts";
import { checkCertificatesFolder } from "../own-data-directory.ts";

/** What the agent makes in a folder: files of this mode and owner, and links. */
interface Made {
  readonly ownership: FileOwnership;
  readonly hasLinks: boolean;
}

const ownFiles: Made = { ownership: { mode: 0o600, isOwnershipKept: true }, hasLinks: true };

/** Throws UnusableFile unless the agent can start with this data directory, and keep its files there. */
export function checkAgentFolder(folder: string): CheckFinding {
  if (existsSync(folder)) checkOwnable(folder);
  checkParentFolders(folder, { uid: statSync(folder, { throwIfNoEntry: false })?.uid });
  checkCertificatesFolder(folder, { mayBeOfOthers: process.getuid?.() === 0 }); // root asks for the agent's user
  return checkFolder(folder, ownFiles);
}

/** What the data directory of an agent that has run holds for its client certificate. */
export interface SavedClientCertificate {
  readonly pair: KeyPair | undefined;
  /** The key of a request that waits. PEM, secret. */
  readonly pendingKey: string | undefined;
}

/**
 * Whether another user's agent has run with this data directory. Root can look at its files, but only the agent's user uses the keys in
 * them.
 */
export function isOfAnotherUser(dataDirectory: string): boolean {
  const pki = certificatesFolder({ dataDirectory });
  const user = process.getuid?.();
  return user !== undefined && existsSync(pki) && statSync(pki).uid !== user;
}

/** Throws UnusableFile when this user may not use the agent's files. */
export function savedClientCertificate(dataDirectory: string): SavedClientCertificate {
  const pki = certificatesFolder({ dataDirectory });
  if (!existsSync(pki)) return { pair: undefined, pendingKey: undefined };
  checkFolder(pki, ownFiles);
  const store = new CertificateStore(pki, "client");
  try {
    return { pair: readUsable(store, () => {}), pendingKey: store.pendingKey() };
  } catch (error) {
    throw asUnusableFile(store.file, error);
  }
}

/** Throws UnusableFile unless the agent can write an output. */
export function checkOutput(output: CertificateOutput): CheckFinding {
  checkPlace(output);
  if (output.type !== "folder") checkNotMounted(output.file);
  const ownership = { ...output.ownership, isOwnershipKept: true };
  return checkFolder(outputFolder(output), { ownership, hasLinks: output.type === "folder" });
}

/** Throws UnusableFile unless the agent can write trust anchors to a file. */
export function checkBundleFile(file: string): CheckFinding {
  checkReplaceable(file);
  checkNotMounted(file);
  checkParentFolders(dirname(file), {});
  return checkFolder(dirname(file), { ownership: { mode: 0o644 }, hasLinks: false });
}

/** Throws UnusableFile unless these files can be made in a folder, or the folder itself can be made. */
function checkFolder(folder: string, made: Made): CheckFinding {
  let present = folder;
  while (!existsSync(present) && dirname(present) !== present) {
    if (linkTarget(present) !== undefined) throw new UnusableFile(linkToNothing(present));
    present = dirname(present);
  }
  if (!statSync(present).isDirectory()) throw new UnusableFile(`${present} is a file, not a folder; name another`);
  try {
    if (present === folder) tryMaking(made, folder);
    else accessSync(present, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new UnusableFile(`${present}: ${fileFailureReason(error)}`, { cause: error });
  }
  return present === folder ? ok : { state: "ok", why: "the folder is not there yet; the agent makes it" };
}

/** More than a key with a usual chain. On a full disk, an empty file can still be made. */
const triedBytes = 16 * 1024;

/**
 * Makes and removes a file, because only a try tells what a file system supports, whether it has room, and which owners this user may give
 * a file. Throws the system's error, or one with the reason.
 */
function tryMaking({ ownership, hasLinks }: Made, folder: string): void {
  const tried = openReplacement(join(folder, ".signet-agent-check"), ownership);
  try {
    tried.write(Buffer.alloc(triedBytes));
  } finally {
    tried.discard();
  }
  if (!hasLinks) return;
  try {
    symlinkSync(".", tried.temporary);
  } catch (error) {
    throw new UnusableFile(linkFailureReason(error), { cause: error });
  }
  removeFile(tried.temporary);
}

/** Throws UnusableFile for a file that is itself a mount, as in a container: no other file can replace it. */
function checkNotMounted(file: string): void {
  if (!existsSync(file) || mountOf(file) === mountOf(realpathSync.native(dirname(file)))) return;
  throw new UnusableFile(`${file} is mounted by itself, so it cannot be replaced; mount its folder in its place`);
}

/** Linux' information about the open files of a process (proc(5)). Other systems have no such folder. */
const openFilesFolder = "/proc/self/fdinfo";
/** Opens a file without the right to read it, and opens a link itself instead of its target (open(2)). Node.js has no name for O_PATH. */
const pathOnly = 0o10000000 | constants.O_NOFOLLOW;

/** The ID of the mount that a path is in now. Undefined when the system does not tell. */
function mountOf(path: string): string | undefined {
  if (!existsSync(openFilesFolder)) return undefined;
  const descriptor = openSync(path, pathOnly);
  try {
    return /^mnt_id:.*$/m.exec(readFileSync(`${openFilesFolder}/${descriptor}`, "utf8"))?.[0];
  } finally {
    closeSync(descriptor);
  }
}
