import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { isOnSearchPath } from "./is-on-search-path.ts";
import { hasSqlite, SqliteLock } from "./sqlite-lock.ts";
import { fileFailureReason, UnusableFile, asUnusableFile } from "../unusable-file.ts";

/** A lock that the operating system holds on a file for this process. The end of the process always releases it, also a crash. */
export interface FileLock {
  /**
   * Takes the exclusive lock. Blocks the process while it waits. Returns false when another process still holds the lock,
   * exclusive or shared.
   */
  lockExclusive(options: { readonly waitMilliseconds: number }): boolean;
  /** Takes the shared lock, without waiting. Returns false when another process holds the exclusive one. */
  lockShared(): boolean;
  /** Unlocks, and closes the file. */
  release(): void;
}

/**
 * Creates the file (0600) unless it exists, because anyone who can read it can hold the lock. Throws UnusableFile when it cannot be opened.
 * All processes of a machine must lock in the same way, whatever their version of Node.js is. Node.js 20 has no SQLite, so the
 * program flock(1) is used if it is installed, as on nearly every Linux. A machine without it needs SQLite.
 */
export function openFileLock(file: string): FileLock {
  if (process.platform === "linux" && isOnSearchPath("flock")) return new OpenFileLock(file);
  if (hasSqlite()) return new SqliteLock(file);
  const help = "install util-linux, or Node.js 22.13 or later, which needs no program";
  throw new UnusableFile(`${file} cannot be locked: the program flock is missing: ${help}`);
}

/** Opens the file for reading and writing, because opening a pipe only for writing waits for its reader. Throws UnusableFile. */
function openLockFile(file: string): number {
  try {
    return openSync(file, "a+", 0o600);
  } catch (error) {
    throw asUnusableFile(`${file} cannot be locked`, error);
  }
}

/** How often to try while another process holds the lock. */
const retryMilliseconds = 50;

/**
 * flock(2). Node.js has no call for it, so the program flock(1), of util-linux or BusyBox, locks the open file that it gets from
 * this process. The lock belongs to the open file and stays when that program has ended. No program that this process starts
 * inherits the file.
 */
class OpenFileLock implements FileLock {
  readonly #file: string;
  #descriptor: number | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#descriptor = openLockFile(file);
  }

  lockExclusive({ waitMilliseconds }: { readonly waitMilliseconds: number }): boolean {
    const end = performance.now() + waitMilliseconds;
    while (!this.#take("-x")) {
      if (performance.now() >= end) return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMilliseconds);
    }
    return true;
  }

  lockShared(): boolean {
    return this.#take("-s");
  }

  release(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #take(mode: "-x" | "-s"): boolean {
    const descriptor = this.#descriptor ?? openLockFile(this.#file);
    this.#descriptor = descriptor;
    const { status, signal, error, stderr } = spawnSync("flock", ["-n", mode, "3"], {
      stdio: ["ignore", "ignore", "pipe", descriptor],
      encoding: "utf8",
    });
    if (status === 0) return true;
    // flock prints nothing when another process has the lock.
    if (status === 1 && stderr === "") return false;
    // Ctrl-C also ends the program flock. Other code decides whether it ends this process.
    if (signal === "SIGINT") return this.#take(mode);
    const said = (): string => (signal === null ? stderr.trim() : `the program flock was ended by ${signal}`);
    throw new UnusableFile(
      `${this.#file} cannot be locked: ${error === undefined ? said() : fileFailureReason(error)}`,
      { cause: error },
    );
  }
}
