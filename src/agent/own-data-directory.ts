import { existsSync } from "node:fs";
import { ownGuardedFolder } from "../machinery/files/folders/own-guarded-folder.ts";
import { checkUnshared } from "../machinery/files/folders/owned-folder.ts";
import type { OwnedFolder } from "../machinery/files/folders/owned-folder.ts";
import { certificatesFolder } from "./certificates/managed-certificate.ts";

/** Takes ownership of an agent's data directory, as `ownGuardedFolder` does. Throws UnusableFile. */
export const ownDataDirectory = (dataDirectory: string): OwnedFolder =>
  ownGuardedFolder(dataDirectory, () => checkCertificatesFolder(dataDirectory));

/**
 * Throws UnusableFile when other users can write to the folder of the certificates: they could put their own key in the place of one.
 * `mayBeOfOthers`: it may belong to another user, for whom this one asks.
 */
export function checkCertificatesFolder(dataDirectory: string, { mayBeOfOthers = false } = {}): void {
  const pki = certificatesFolder({ dataDirectory });
  if (existsSync(pki)) checkUnshared(pki, { mayBeOfOthers });
}
