import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { errorCode } from "../../api/thrown-error.ts";

/** The output to which log lines are appended. */
export interface LogOutput {
  /** Writing never waits for a reader: everything except a regular file is non-blocking, and fails with EAGAIN. */
  readonly fd: number;
  /** A write of up to this size stays in one piece even when other processes write to the same output. */
  readonly atomicBytes: number;
  /** Whether another program has left the last line without a line break. Absent: that cannot be known. */
  readonly isTorn?: () => boolean;
}

const fileChunkBytes = 256 * 1024;
/** How long to wait before the next try on a full pipe. This is not a failure: the pipe has room as soon as its reader reads. */
export const fullPipeMilliseconds = 20;

/** PIPE_BUF on Linux. */
const pipeChunkBytes = 4096;
const newline = 0x0a;

const { O_APPEND, O_CREAT, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_WRONLY } = constants;

/**
 * Opens a file for appending, readable only by its owner (0600, even when it existed with other permissions), or a
 * device, or a pipe with a reader. `tornLine`: whether a last line without a line break, from a crash, gets a line break or is removed.
 * Throws the system's error, and an error for links and for files of other users.
 */
export function openLogFile(
  path: string,
  { tornLine }: { readonly tornLine: "end" | "remove" },
): LogOutput & { readonly isFile: boolean } {
  const fd = openFile(path);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return { fd, isFile: false, atomicBytes: pipeChunkBytes };
    keepPrivate(fd, stats);
    if (isTorn(fd, stats.size)) repair(fd, { size: stats.size, tornLine });
    return { fd, isFile: true, atomicBytes: fileChunkBytes };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Does not follow links, because in a shared folder another user's link could choose the file. */
function openFile(path: string): number {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  // A process that opens a pipe for reading and writing would be the pipe's reader.
  const access = isFile ? O_RDWR | O_CREAT : O_WRONLY;
  try {
    return openSync(path, access | O_APPEND | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    // For a link, the system answers with the error for a loop of links.
    if (errorCode(error) !== "ELOOP" || !lstatSync(path).isSymbolicLink()) throw error;
    throw new Error("it is a symbolic link; name a file", { cause: error });
  }
}

function keepPrivate(fd: number, { uid, mode, nlink }: Stats): void {
  if (uid !== process.geteuid?.()) throw new Error("it belongs to another user");
  if (nlink > 1) throw new Error("it has another name besides (a hard link)");
  if ((mode & 0o777) !== 0o600) fchmodSync(fd, 0o600);
}

function isTorn(fd: number, size: number): boolean {
  const last = Buffer.alloc(1);
  return size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== newline;
}

function repair(fd: number, { size, tornLine }: { readonly size: number; readonly tornLine: "end" | "remove" }): void {
  try {
    if (tornLine === "end") writeSync(fd, "\n");
    else ftruncateSync(fd, endOfLastWholeLine(fd, size));
  } catch {
    // The disk is full: the writer reports it at the next write.
  }
}

function endOfLastWholeLine(fd: number, size: number): number {
  const block = Buffer.alloc(fileChunkBytes);
  for (let end = size; end > 0; end -= block.length) {
    const begin = Math.max(0, end - block.length);
    const found = block.subarray(0, readSync(fd, block, 0, end - begin, begin)).lastIndexOf(newline);
    if (found >= 0) return begin + found + 1;
  }
  return 0;
}

/**
 * Standard output (1) or standard error (2). A pipe or a terminal is opened again, so that non-blocking mode affects
 * only this process. A socket (systemd's journal) is switched to non-blocking mode.
 */
export function standardOutput(fd: 1 | 2): LogOutput {
  const isFile = isRegular(fd);
  if (isFile) return { fd, atomicBytes: fileChunkBytes, ...torn(fd) };
  try {
    const own = openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
    return { fd: own, atomicBytes: pipeChunkBytes };
  } catch {
    // When Node.js creates its own stream for a socket, it makes the socket non-blocking.
    void (fd === 1 ? process.stdout : process.stderr);
    return { fd, atomicBytes: pipeChunkBytes };
  }
}

/** Opens the file again, because the output itself is only for writing. */
function torn(fd: 1 | 2): Pick<LogOutput, "isTorn"> {
  try {
    const reader = openSync(`/dev/fd/${fd}`, "r");
    return { isTorn: () => isTorn(reader, fstatSync(reader).size) };
  } catch {
    return {}; // this user may not read it
  }
}

function isRegular(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false; // it was closed before the process started
  }
}
