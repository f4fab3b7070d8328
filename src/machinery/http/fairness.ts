import { tooManyRequests } from "../api/api-error.ts";

export interface FairnessOptions {
  /** Requests that run at the same time. */
  readonly concurrency: number;
  /** Requests that wait, of all users together. */
  readonly queueLength: number;
  /** Requests of one user that wait. */
  readonly queueLengthPerUser: number;
}

/**
 * A bound on the requests that run at once. Above it requests wait in a queue for each user, and the queues are served in
 * turn: a user who floods waits for himself. Below it nothing is allocated.
 */
export class FairQueue {
  readonly #options: FairnessOptions;
  #running = 0;
  #waiting = 0;
  /** In the order of their turns. */
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

  /** Returns undefined when the request may run now, else a promise of its turn. Throws a 429 when too many wait. */
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

  /** To be called once for each request that entered, when it has ended. */
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
