import { tooManyRequests } from "../api/api-error.ts";
import { RoundRobinQueue } from "../scheduling/round-robin-queue.ts";
import { FairShare } from "../scheduling/fair-share.ts";

export interface FairnessOptions {
  /** How many requests may run at the same time. */
  readonly concurrency: number;
  /** How many requests of all users together may wait. */
  readonly queueLength: number;
  /** How many requests of one user may wait. */
  readonly queueLengthPerUser: number;
}

/** The share of the running requests that one user may have. The rest is for others, also when these requests take long. */
const sharePerUser = 0.75;

/**
 * Limits the number of requests that run at once. One user may run three quarters of those that the others leave: so users whose
 * requests never end (they wait for their bodies, for instance) do not stop the others. Requests above a limit wait in one queue per
 * user, and the queues take turns: a user who sends too many waits only for their own requests.
 */
export class FairQueue {
  readonly #options: FairnessOptions;
  readonly #share: FairShare;
  #waiting = 0;
  #refused = 0;
  readonly #queue = new RoundRobinQueue<() => void>();

  constructor(options: FairnessOptions) {
    this.#options = options;
    this.#share = new FairShare({ places: options.concurrency, sharePerUser });
  }

  get running(): number {
    return this.#share.taken;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** How many requests were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /**
   * Returns undefined when the request may run now, otherwise a promise that resolves when it may. Throws a 429 when
   * too many requests wait.
   */
  enter(username: string): Promise<void> | undefined {
    if (this.#share.mayTake(username)) {
      this.#share.take(username);
      return undefined;
    }
    const { queueLength, queueLengthPerUser } = this.#options;
    const waitingOf = this.#queue.lengthOf(username);
    if (this.#waiting >= queueLength || (waitingOf > 0 && waitingOf >= queueLengthPerUser)) {
      this.#refused++;
      throw tooManyRequests("Too many requests, please try again later.", 1);
    }
    this.#waiting++;
    return new Promise((resolve) => this.#queue.add(username, resolve));
  }

  /** Call it once for each request that entered, when the request has ended. */
  leave(username: string): void {
    this.#share.release(username);
    // More than one may run now: what one user leaves widens the shares of all.
    while (this.#waiting > 0 && !this.#share.isFull) {
      const next = this.#queue.take((user) => this.#share.mayTake(user));
      if (next === undefined) return;
      this.#waiting--;
      this.#share.take(next.username);
      next.item();
    }
  }
}
