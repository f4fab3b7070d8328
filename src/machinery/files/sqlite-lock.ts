import { closeSync, existsSync, openSync } from "node:fs";
import { isBuiltin } from "node:module";
import type { DatabaseSync } from "node:sqlite";

const sqliteBusy = 5;

/** Node.js has it from 22.13 on. */
export const hasSqlite = (): boolean => isBuiltin("node:sqlite");

/**
 * A lock that the operating system holds for this process, and that is taken in microseconds, so that it can be taken for each
 * write. The file (0600) is an empty SQLite database, and nothing is ever written to it. Never open the file in another way: on
 * POSIX, closing it anywhere in the process releases the lock.
 */
export class SqliteLock {
  readonly #database: DatabaseSync;
  #waitMilliseconds = 0;

  /** Throws when the file cannot be opened. */
  constructor(file: string) {
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    this.#database = new DatabaseSync(file);
  }

  /** Blocks the process while it waits. Returns false when another process still holds the lock. */
  takeAlone({ waitMilliseconds }: { readonly waitMilliseconds: number }): boolean {
    this.#setWait(waitMilliseconds);
    // In memory: an exclusive lock would make a journal file each time.
    return this.#take("PRAGMA journal_mode = MEMORY", "BEGIN EXCLUSIVE");
  }

  /** Does not wait. */
  takeTogether(): boolean {
    this.#setWait(0);
    this.#database.exec("BEGIN");
    const isTaken = this.#take("SELECT count(*) FROM sqlite_schema"); // the read takes the lock
    if (!isTaken) this.giveBack();
    return isTaken;
  }

  /** Ends a lock that was taken. It can be taken again. */
  giveBack(): void {
    this.#database.exec("ROLLBACK");
  }

  /** Gives the lock back for good. */
  release(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #setWait(milliseconds: number): void {
    if (this.#waitMilliseconds !== milliseconds) this.#database.exec(`PRAGMA busy_timeout = ${milliseconds}`);
    this.#waitMilliseconds = milliseconds;
  }

  #take(...statements: readonly string[]): boolean {
    try {
      for (const statement of statements) this.#database.exec(statement);
      return true;
    } catch (error) {
      if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return false;
      throw error;
    }
  }
}
