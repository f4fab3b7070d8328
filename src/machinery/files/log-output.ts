import { closeSync, constants, fchmodSync, fstatSync, openSync, readSync, statSync, writeSync } from "node:fs";
import type { Stats } from "node:fs";

/** What lines are appended to. */
export interface LogOutput {
  /** Writing to it never blocks on a reader: what is no file is opened so that it answers EAGAIN. */
  readonly fd: number;
  readonly isFile: boolean;
  /** So much is written at once and stays together although other processes write there too. */
  readonly atomicBytes: number;
  /** Another output in place of this one, when its file was moved or removed. */
  reopened?(): LogOutput | undefined;
}

const fileChunkBytes = 256 * 1024;
/** PIPE_BUF of Linux. */
const pipeChunkBytes = 4096;
/** How often a file is looked for at its path. */
const lookMilliseconds = 1000;

const { O_APPEND, O_CREAT, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_WRONLY } = constants;

/**
 * Opens a file to append to, for its owner alone (0600, also when it was there before with other rights), or a device or a
 * pipe with a reader. A last line without an end, which a crash left, gets one. When the file is moved away or removed, as
 * logrotate does, `reopened` finds that within a second and makes the file anew. Throws what the system says, and for links
 * and for files of somebody else.
 */
export function openLogFile(path: string): LogOutput {
  const fd = openFile(path);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return { fd, isFile: false, atomicBytes: pipeChunkBytes };
    keepPrivate(fd, stats);
    endLastLine(fd, stats.size);
    return { fd, isFile: true, atomicBytes: fileChunkBytes, reopened: reopener(path, { fd, stats }) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Links are not followed: another user's link in a shared folder would choose the file. */
function openFile(path: string): number {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  // A pipe that is opened for reading too would be its own reader.
  const access = isFile ? O_RDWR | O_CREAT : O_WRONLY;
  return openSync(path, access | O_APPEND | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0o600);
}

function keepPrivate(fd: number, { uid, mode, nlink }: Stats): void {
  if (uid !== process.geteuid?.()) throw new Error("it belongs to another user");
  if (nlink > 1) throw new Error("it has another name besides (a hard link)");
  if ((mode & 0o777) !== 0o600) fchmodSync(fd, 0o600);
}

function endLastLine(fd: number, size: number): void {
  const last = Buffer.alloc(1);
  if (size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a) {
    try {
      writeSync(fd, "\n");
    } catch {
      // The disk is full: the writer says so when there is something to write.
    }
  }
}

function reopener(
  path: string,
  { fd, stats }: { readonly fd: number; readonly stats: Stats },
): () => LogOutput | undefined {
  let lookedAt = performance.now();
  return () => {
    const now = performance.now();
    if (now - lookedAt < lookMilliseconds) return undefined;
    lookedAt = now;
    try {
      const there = statSync(path, { throwIfNoEntry: false });
      if (there?.ino === stats.ino && there.dev === stats.dev) return undefined;
      const next = openLogFile(path);
      closeSync(fd);
      return next;
    } catch {
      // What is there now cannot be used: the file that was moved is still a good place.
      return undefined;
    }
  };
}

/**
 * Standard output (1) or standard error (2). A pipe or a terminal is opened anew, so that not blocking is a matter of this
 * process alone; a socket (systemd's journal) is set so.
 */
export function standardOutput(fd: 1 | 2): LogOutput {
  const isFile = isRegular(fd);
  if (isFile) return { fd, isFile: false, atomicBytes: fileChunkBytes };
  try {
    const own = openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
    return { fd: own, isFile: false, atomicBytes: pipeChunkBytes };
  } catch {
    // The runtime's own stream over a socket takes its blocking away when it is made.
    void (fd === 1 ? process.stdout : process.stderr);
    return { fd, isFile: false, atomicBytes: pipeChunkBytes };
  }
}

function isRegular(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false; // it was closed before the process began
  }
}
