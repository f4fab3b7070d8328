import { accessSync, closeSync, constants, existsSync, openSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { messageOf } from "../../api/thrown-error.ts";
import { UnusableFile, asUnusableFile } from "../unusable-file.ts";

const sqliteBusy = 5;

/** Whether this Node.js has SQLite. Node.js has it since 22.13. */
export const hasSqlite = (): boolean => isBuiltin("node:sqlite");

/**
 * A lock that the operating system holds for this process. Taking it needs only microseconds, so it can be taken for each write. The file
 * (0600) is an empty SQLite database, to which nothing is ever written. Never open the file in another way, because on POSIX, closing it
 * anywhere in the process releases the lock.
 */
export class SqliteLock {
  readonly #file: string;
  readonly #database: DatabaseSync;
  /** The statements that were run before. Each is parsed once, because parsing it takes longer than running it. */
  readonly #statements = new Map<string, StatementSync>();
  #waitMilliseconds = 0;

  /** Throws UnusableFile when the file cannot be opened. */
  constructor(file: string) {
    this.#file = file;
    makeLockFile(file);
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    try {
      this.#database = new DatabaseSync(file);
    } catch (error) {
      throw notLocked(file, error);
    }
  }

  /** Takes the exclusive lock. Blocks the process while it waits. Returns false when another process still holds the lock. */
  lockExclusive({ waitMilliseconds }: { readonly waitMilliseconds: number }): boolean {
    this.#setWait(waitMilliseconds);
    // With the journal in memory, because an exclusive lock would create a journal file each time.
    return this.#take("PRAGMA journal_mode = MEMORY", "BEGIN EXCLUSIVE");
  }

  /** Takes the shared lock, without waiting. Returns false when another process holds the exclusive one. */
  lockShared(): boolean {
    this.#setWait(0);
    this.#run("BEGIN");
    let isTaken = false;
    try {
      isTaken = this.#take("SELECT count(*) FROM sqlite_schema"); // the read takes the lock
      return isTaken;
    } finally {
      if (!isTaken) this.unlock();
    }
  }

  /** Releases the lock of this process. It can be taken again. */
  unlock(): void {
    this.#run("ROLLBACK");
  }

  /** Unlocks, and closes the file: the lock cannot be taken again. */
  release(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #setWait(milliseconds: number): void {
    if (this.#waitMilliseconds !== milliseconds) this.#database.exec(`PRAGMA busy_timeout = ${milliseconds}`);
    this.#waitMilliseconds = milliseconds;
  }

  #run(text: string): void {
    let statement = this.#statements.get(text);
    if (statement === undefined) this.#statements.set(text, (statement = this.#database.prepare(text)));
    statement.run();
  }

  #take(...statements: readonly string[]): boolean {
    try {
      for (const statement of statements) this.#run(statement);
      return true;
    } catch (error) {
      if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return false;
      throw notLocked(this.#file, error);
    }
  }
}

/** Creates the file unless it exists. SQLite also opens a read-only file, but its locks have no effect then. */
function makeLockFile(file: string): void {
  try {
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw asUnusableFile(`${file} cannot be locked`, error);
  }
  const status = statSync(file);
  if (!status.isFile() || status.size > 0)
    throw new UnusableFile(`${file} cannot be locked: it is no empty file; end what uses it, and remove it`);
}

/** SQLite's messages do not name the file. */
const notLocked = (file: string, error: unknown): UnusableFile =>
  new UnusableFile(`${file} cannot be locked: ${messageOf(error)}`, { cause: error });
