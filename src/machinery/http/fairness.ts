import { tooManyRequests } from "../api/api-error.ts";

export interface FairnessOptions {
  /** How many requests may run at the same time. */
  readonly concurrency: number;
  /** How many requests of all users together may wait. */
  readonly queueLength: number;
  /** How many requests of one user may wait. */
  readonly queueLengthPerUser: number;
}

/**
 * Limits the number of requests that run at once. Above the limit, requests wait in one queue per user, and the queues
 * take turns: a user who sends too many waits only for their own requests. Below the limit, nothing is allocated.
 */
export class FairQueue {
  readonly #options: FairnessOptions;
  #running = 0;
  #waiting = 0;
  /** In the order in which the users get their turns. */
  readonly #queues = new Map<string, (() => void)[]>();

  constructor(options: FairnessOptions) {
    this.#options = options;
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
    if (this.#running < this.#options.concurrency) {
      this.#running++;
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
  leave(): void {
    const next = this.#queues.entries().next();
    if (next.done) {
      this.#running--;
      return;
    }
    const [username, queue] = next.value;
    const start = queue.shift();
    // The user's next request goes to the end of the round.
    this.#queues.delete(username);
    if (queue.length > 0) this.#queues.set(username, queue);
    this.#waiting--;
    start?.();
  }
}
