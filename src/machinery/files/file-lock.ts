import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const busy = 5;

/**
 * A lock that the operating system holds on a file for this process. It is released however the process ends. Node.js
 * offers such locks only through SQLite: the file is an empty SQLite database, and nothing is ever written to it. Never
 * open the file in another way: on POSIX, closing it anywhere in the process releases the lock.
 */
export class FileLock {
  readonly #database: DatabaseSync;

  /**
   * Creates the file (0600) unless it exists, because anyone who can read it can hold the lock. Throws when it cannot
   * be opened.
   */
  constructor(file: string) {
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
    this.#database = new DatabaseSync(file);
  }

  /**
   * Takes the lock exclusively. Blocks the process while it waits. Returns false when another process still holds the
   * lock.
   */
  takeAlone({ waitMilliseconds }: { readonly waitMilliseconds: number }): boolean {
    return this.#take(`PRAGMA busy_timeout = ${waitMilliseconds}`, "BEGIN EXCLUSIVE");
  }

  /** Takes the lock together with others. Returns false when another process holds it exclusively. */
  takeTogether(): boolean {
    return this.#take("BEGIN", "SELECT count(*) FROM sqlite_schema"); // the read takes the lock
  }

  release(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #take(...statements: readonly string[]): boolean {
    try {
      for (const statement of statements) this.#database.exec(statement);
      return true;
    } catch (error) {
      if (error instanceof Error && "errcode" in error && error.errcode === busy) return false;
      throw error;
    }
  }
}
