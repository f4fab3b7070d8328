import { resolve } from "node:path";

interface FileStatus {
  readonly uid: number;
  readonly gid: number;
  /** As in stat(2): the lowest nine bits are permissions. */
  readonly mode: number;
}

/** Only root can create folders in it. */
const systemdCredentials = "/run/credentials/";

/**
 * Whether users besides the owner may read, write or execute a file. Since version 254, systemd lets a service read its credentials by an
 * ACL. The mode then shows a right of the group root to read, which the group does not have.
 */
export function isOpenToOthers(file: string, { uid, gid, mode }: FileStatus): boolean {
  const rights = mode & 0o077;
  const isCredential = uid === 0 && gid === 0 && resolve(file).startsWith(systemdCredentials);
  return rights !== 0 && !(isCredential && rights === 0o040);
}
