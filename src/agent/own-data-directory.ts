import { existsSync } from "node:fs";
import { checkParentFolders } from "../machinery/files/folders/check-parent-folders.ts";
import { checkUnshared, ownFolder } from "../machinery/files/folders/owned-folder.ts";
import type { OwnedFolder } from "../machinery/files/folders/owned-folder.ts";
import { certificatesFolder } from "./certificates/managed-certificate.ts";

/**
 * Takes ownership of an agent's data directory, as `ownFolder` does. Throws UnusableFile, also when another user could put a folder with
 * other keys in its place.
 */
export function ownDataDirectory(dataDirectory: string): OwnedFolder {
  checkParentFolders(dataDirectory, {});
  return ownFolder(dataDirectory, {
    beforeLock() {
      checkParentFolders(dataDirectory, { mustExist: true }); // it may have been missing before
      checkCertificatesFolder(dataDirectory);
    },
  });
}

/**
 * Throws UnusableFile when other users can write to the folder of the certificates: they could put their own key in the place of one.
 * `mayBeOfOthers`: it may belong to another user, for whom this one asks.
 */
export function checkCertificatesFolder(dataDirectory: string, { mayBeOfOthers = false } = {}): void {
  const pki = certificatesFolder({ dataDirectory });
  if (existsSync(pki)) checkUnshared(pki, { mayBeOfOthers });
}
