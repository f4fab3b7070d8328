import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The path of a socket may have 103 bytes on macOS and 107 on Linux. */
const longestParentBytes = 70;

/** A new folder with a path that is short enough for sockets in it, however long that of the folder for temporary files is. */
export function socketFolder(): string {
  const parent = Buffer.byteLength(tmpdir()) <= longestParentBytes ? tmpdir() : "/tmp";
  return mkdtempSync(join(parent, "signet-socket-"));
}
