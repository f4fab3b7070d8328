import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const busy = 5;

/**
 * A lock that the system holds on a file for this process, so that it ends with the process in whatever way that ends.
 * Node offers no such lock but through SQLite, whose empty database the file is: nothing is ever written to it. Do not open
 * the file otherwise: on POSIX, closing it anywhere in the process gives the lock up.
 */
export class FileLock {
  readonly #database: DatabaseSync;

  /** Makes the file (0600) unless it is there: whoever can read it can hold the lock. Throws when it can't be opened. */
  constructor(file: string) {
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
    this.#database = new DatabaseSync(file);
  }

  /** False when anybody else holds the lock and goes on to; blocks the process while it waits. */
  takeAlone({ waitMilliseconds }: { readonly waitMilliseconds: number }): boolean {
    return this.#take(`PRAGMA busy_timeout = ${waitMilliseconds}`, "BEGIN EXCLUSIVE");
  }

  /** False when somebody holds the lock alone. */
  takeTogether(): boolean {
    return this.#take("BEGIN", "SELECT count(*) FROM sqlite_schema"); // the reading takes the lock
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
