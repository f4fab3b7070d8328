import { resolve } from "node:path";

interface FileStatus {
  readonly uid: number;
  readonly gid: number;
  /** As stat(2) has it: the lowest nine bits are permissions. */
  readonly mode: number;
}

/** Only root makes folders there. */
const systemdCredentials = "/run/credentials/";

/**
 * Whether users besides the owner may read, write or execute a file. systemd lets a service read its credentials by an ACL, since
 * version 254: that shows as the right of the group root to read, which the group does not have.
 */
export function isOpenToOthers(file: string, { uid, gid, mode }: FileStatus): boolean {
  const rights = mode & 0o077;
  const isCredential = uid === 0 && gid === 0 && resolve(file).startsWith(systemdCredentials);
  return rights !== 0 && !(isCredential && rights === 0o040);
}
