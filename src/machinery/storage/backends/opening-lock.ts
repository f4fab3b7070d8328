import { setTimeout as delay } from "node:timers/promises";
import { SqliteLock } from "../../files/sqlite-lock.ts";

/** A process that opens the store waits so long for the commits of others, and a commit for their openings. */
const defaultWaitMilliseconds = 10_000;
/** Commits that come soon after another one share its lock. No longer than this: somebody may be waiting to open the store. */
const sharedMilliseconds = 5;
/** How often to try while another process opens or closes the store. */
const retryMilliseconds = 1;
/** A close waits so long. Then it closes all the same: a process that ends may not wait for others. */
const closingMilliseconds = 1_000;
/** Meanwhile no commit begins: with shorter tries, commits of several processes would leave a close no gap. Blocks the process. */
const closingTryMilliseconds = 100;

/**
 * Keeps commits of the store and its openings apart, in all processes. LMDB's open writes into the memory that the processes share
 * which transaction was the last when it read the file. When another process commits in between, the next transaction takes that one's
 * place: it is lost, and the file is damaged (OpenLDAP's ITS#9496; the package lmdb 3.5.6 still has it). A close takes the
 * mutexes of the last process apart, which another one may have just opened.
 *
 * Commits hold the shared lock. A process that opens or closes the store holds the exclusive one.
 */
export class OpeningLock {
  readonly #lock: SqliteLock;
  readonly #waitMilliseconds: number;
  #commits = 0;
  #isHeld = false;
  /** Held long enough: it is unlocked as soon as no commit runs, and no other commit begins before. */
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

  /** Runs while no process commits. Blocks the process until then. Throws when the others do not end. */
  open<T>(run: () => T): T {
    if (!this.#lock.lockExclusive({ waitMilliseconds: this.#waitMilliseconds })) throw this.#late();
    try {
      return run();
    } finally {
      this.#lock.unlock();
    }
  }

  /** Runs as a commit. Waits while a process opens or closes the store. Rejects when the others do not end. */
  async commit<T>(write: () => Promise<T>): Promise<T> {
    const end = performance.now() + this.#waitMilliseconds;
    while (!this.#take()) {
      // A process may be suspended while it opens the store: writers would wait endlessly.
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

  /** Runs while no process commits, as far as the others end soon. This one must have no commit under way. */
  async close(run: () => Promise<void>): Promise<void> {
    if (this.#isHeld) this.#unlock();
    const end = performance.now() + closingMilliseconds;
    let isTaken = false;
    // Held: this process has opened the store again meanwhile, and writes to it.
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

  /** Unlocks, and closes the file. */
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
