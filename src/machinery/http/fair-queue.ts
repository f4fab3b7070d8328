import { tooManyRequests } from "../api/api-error.ts";
import { FairShare } from "../scheduling/fair-share.ts";
import { RoundRobinQueue } from "../scheduling/round-robin-queue.ts";
import type { SharePath } from "../scheduling/share-path.ts";

export interface FairnessOptions {
  /** How many requests may run at the same time. */
  readonly concurrency: number;
  /** How many requests of all users together may wait. */
  readonly queueLength: number;
}

/** The share of the running requests that one user may have. The rest is for others, also when these requests take long. */
const shareOfRunning = 0.75;
const shareOfWaiting = 0.5;

interface Waiting {
  readonly path: SharePath;
  readonly start: () => void;
}

/**
 * Limits the number of requests that run at once. One user may have three quarters of the places that the others leave: so users whose
 * requests never end (they wait for their bodies, for instance) do not stop the others. Requests above a limit wait in one queue per
 * user, with half of the waiting places that the others leave. The queues take turns, so a user who sends too many requests waits only
 * for their own.
 */
export class FairQueue {
  readonly #running: FairShare;
  readonly #waiting: FairShare;
  readonly #queue = new RoundRobinQueue<Waiting>();
  #refused = 0;

  constructor({ concurrency, queueLength }: FairnessOptions) {
    this.#running = new FairShare({ places: concurrency, sharePerUser: shareOfRunning });
    this.#waiting = new FairShare({ places: queueLength, sharePerUser: shareOfWaiting });
  }

  get running(): number {
    return this.#running.taken;
  }

  get waiting(): number {
    return this.#waiting.taken;
  }

  /** How many requests were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /**
   * Returns undefined when the request may run now, otherwise a promise that resolves when it may. Throws a 429 when
   * too many requests wait.
   */
  enter(path: SharePath): Promise<void> | undefined {
    if (this.#running.mayTake(path)) {
      this.#running.take(path);
      return undefined;
    }
    if (!this.#waiting.mayTake(path)) {
      this.#refused++;
      throw tooManyRequests("Too many requests, please try again later.", 1);
    }
    this.#waiting.take(path);
    return new Promise((start) => this.#queue.add(path, { path, start }));
  }

  /** Call it once for each request that entered, when the request has ended. */
  leave(path: SharePath): void {
    this.#running.release(path);
    // Several waiting requests may run now, because a free place enlarges the share of every user.
    while (!this.#running.isFull) {
      const next = this.#queue.take((waiting) => this.#running.mayTake(waiting));
      if (next === undefined) return;
      this.#waiting.release(next.item.path);
      this.#running.take(next.item.path);
      next.item.start();
    }
  }
}
