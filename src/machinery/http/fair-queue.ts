import { tooManyRequests } from "../api/api-error.ts";
import { RoundRobinQueue } from "../scheduling/round-robin-queue.ts";

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
 * Limits the number of requests that run at once. One user may run three quarters of them: so a user whose requests never end (they
 * wait for their bodies, for instance) does not stop the others. Requests above a limit wait in one queue per user, and the queues take
 * turns: a user who sends too many waits only for their own requests.
 */
export class FairQueue {
  readonly #options: FairnessOptions;
  readonly #concurrencyPerUser: number;
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  #waiting = 0;
  readonly #queue = new RoundRobinQueue<() => void>();

  constructor(options: FairnessOptions) {
    this.#options = options;
    this.#concurrencyPerUser = Math.max(1, Math.floor(options.concurrency * sharePerUser));
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Returns undefined when the request may run now, otherwise a promise that resolves when it may. Throws a 429 when
   * too many requests wait.
   */
  enter(username: string): Promise<void> | undefined {
    if (this.#mayRun(username)) {
      this.#start(username);
      return undefined;
    }
    const { queueLength, queueLengthPerUser } = this.#options;
    const waitingOf = this.#queue.lengthOf(username);
    if (this.#waiting >= queueLength || (waitingOf > 0 && waitingOf >= queueLengthPerUser)) {
      throw tooManyRequests("Too many requests, please try again later.", 1);
    }
    this.#waiting++;
    return new Promise((resolve) => this.#queue.add(username, resolve));
  }

  /** Call it once for each request that entered, when the request has ended. */
  leave(username: string): void {
    this.#running--;
    const left = (this.#runningOf.get(username) ?? 0) - 1;
    if (left > 0) this.#runningOf.set(username, left);
    else this.#runningOf.delete(username);
    // At most one user is passed over: no two can have such a large share.
    const next = this.#queue.take((user) => this.#mayRun(user));
    if (next === undefined) return;
    this.#waiting--;
    this.#start(next.username);
    next.item();
  }

  #mayRun(username: string): boolean {
    return this.#running < this.#options.concurrency && (this.#runningOf.get(username) ?? 0) < this.#concurrencyPerUser;
  }

  #start(username: string): void {
    this.#running++;
    this.#runningOf.set(username, (this.#runningOf.get(username) ?? 0) + 1);
  }
}
