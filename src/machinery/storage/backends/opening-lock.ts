import { setTimeout as delay } from "node:timers/promises";
import { SqliteLock } from "../../files/locks/sqlite-lock.ts";

/** How long an opening of the store waits for the commits of other processes, and a commit for their openings. */
const defaultWaitMilliseconds = 10_000;
/** How long commits that follow each other share one lock. Short, because another process may wait to open the store. */
const sharedMilliseconds = 5;
/** How often to try while another process opens or closes the store. */
const retryMilliseconds = 1;
/** How long a close waits for the lock. Afterwards it closes without the lock, because a process that ends must not wait for others. */
const closingMilliseconds = 1_000;
/**
 * How long one attempt of a close to get the lock takes. It blocks the process, and no other process begins a commit in this time. Between
 * shorter attempts, the commits of several processes would leave no gap.
 */
const closingTryMilliseconds = 100;

/**
 * Prevents that one process opens or closes the store while another one commits. LMDB's open reads the last transaction from the file,
 * and then writes its number into the memory that the processes share. When another process commits in between, the next transaction
 * overwrites that commit: it is lost, and the file is damaged (OpenLDAP's ITS#9496, which the package lmdb 3.5.6 still has). A close of
 * the last process destroys the mutexes, which another process may have just opened.
 *
 * Commits hold the shared lock. A process that opens or closes the store holds the exclusive one.
 */
export class OpeningLock {
  readonly #lock: SqliteLock;
  readonly #waitMilliseconds: number;
  #commits = 0;
  #isHeld = false;
  /** Whether the lock was held long enough: no further commit begins, and the lock is released when the running commits have ended. */
  #isDue = false;
  #timer: NodeJS.Timeout | undefined;

  /** Creates the file (0600) unless it exists. Throws when it cannot be opened. */
  constructor(
    file: string,
    { waitMilliseconds = defaultWaitMilliseconds }: { readonly waitMilliseconds?: number } = {},
  ) {
    this.#lock = new SqliteLock(file);
    this.#waitMilliseconds = waitMilliseconds;
  }

  /** Calls `run` while no process commits. Blocks this process until then. Throws when other processes hold the lock too long. */
  open<T>(run: () => T): T {
    if (!this.#lock.lockExclusive({ waitMilliseconds: this.#waitMilliseconds })) throw this.#late();
    try {
      return run();
    } finally {
      this.#lock.unlock();
    }
  }

  /** Waits until no process opens or closes the store, and then calls `write`. Rejects when other processes hold the lock too long. */
  async commit<T>(write: () => Promise<T>): Promise<T> {
    const end = performance.now() + this.#waitMilliseconds;
    while (!this.#take()) {
      // A process may be suspended while it opens the store. Without a limit, writers would wait endlessly.
      if (performance.now() >= end) throw this.#late();
      await delay(retryMilliseconds);
    }
    this.#commits += 1;
    try {
      return await write();
    } finally {
      this.#commits -= 1;
      if (this.#isDue && this.#commits === 0) this.#unlock();
    }
  }

  /** Calls `run` while no process commits, or after a second in any case. This process must have no commit under way. */
  async close(run: () => Promise<void>): Promise<void> {
    if (this.#isHeld) this.#unlock();
    const end = performance.now() + closingMilliseconds;
    let isTaken = false;
    // `#isHeld`: this process has opened the store again, and writes to it.
    while (!isTaken && !this.#isHeld && performance.now() < end) {
      isTaken = this.#lock.lockExclusive({ waitMilliseconds: closingTryMilliseconds });
      if (!isTaken) await delay(retryMilliseconds);
    }
    try {
      await run();
    } finally {
      if (isTaken) this.#lock.unlock();
    }
  }

  /** Releases the lock, and closes its file. */
  release(): void {
    clearTimeout(this.#timer);
    this.#lock.release();
  }

  #late(): Error {
    const seconds = this.#waitMilliseconds / 1000;
    return new Error(
      `other processes have written to the store, or opened it, for ${seconds} seconds; end those that hang, and try again`,
    );
  }

  #take(): boolean {
    if (this.#isHeld) return !this.#isDue;
    if (!this.#lock.lockShared()) return false;
    this.#isHeld = true;
    this.#timer = setTimeout(() => {
      this.#isDue = true;
      if (this.#commits === 0) this.#unlock();
    }, sharedMilliseconds);
    this.#timer.unref();
    return true;
  }

  #unlock(): void {
    clearTimeout(this.#timer);
    this.#lock.unlock();
    this.#isHeld = false;
    this.#isDue = false;
  }
}
