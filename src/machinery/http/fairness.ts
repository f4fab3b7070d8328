import { tooManyRequests } from "../api/api-error.ts";

export interface FairnessOptions {
  /** How many requests may run at the same time. */
  readonly concurrency: number;
  /** How many requests of all users together may wait. */
  readonly queueLength: number;
  /** How many requests of one user may wait. */
  readonly queueLengthPerUser: number;
}

/** Of all that may run. The rest is for others, also when one user's requests run for long. */
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
  /** In the order in which the users get their turns. */
  readonly #queues = new Map<string, (() => void)[]>();

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
    const queue = this.#queues.get(username);
    const { queueLength, queueLengthPerUser } = this.#options;
    if (this.#waiting >= queueLength || (queue !== undefined && queue.length >= queueLengthPerUser)) {
      throw tooManyRequests("Too many requests, please try again later.", 1);
    }
    this.#waiting++;
    return new Promise((resolve) => {
      if (queue === undefined) this.#queues.set(username, [resolve]);
      else queue.push(resolve);
    });
  }

  /** Call it once for each request that entered, when the request has ended. */
  leave(username: string): void {
    this.#running--;
    const left = (this.#runningOf.get(username) ?? 0) - 1;
    if (left > 0) this.#runningOf.set(username, left);
    else this.#runningOf.delete(username);
    // One user at most is passed over, because no two can have so large a share.
    for (const [next, queue] of this.#queues) {
      if (!this.#mayRun(next)) continue;
      const start = queue.shift();
      // The user's next request goes to the end of the round.
      this.#queues.delete(next);
      if (queue.length > 0) this.#queues.set(next, queue);
      this.#waiting--;
      this.#start(next);
      start?.();
      return;
    }
  }

  #mayRun(username: string): boolean {
    return this.#running < this.#options.concurrency && (this.#runningOf.get(username) ?? 0) < this.#concurrencyPerUser;
  }

  #start(username: string): void {
    this.#running++;
    this.#runningOf.set(username, (this.#runningOf.get(username) ?? 0) + 1);
  }
}
