import { systemSchedule } from "../api/schedule.ts";
import type { Schedule } from "../api/schedule.ts";

export interface WorkQueueOptions {
  /** Brings the thing that the key names into the wanted state. Throwing retries it, later each time. */
  readonly reconcile: (key: string) => Promise<void>;
  /** Told of every failure; the key is retried all the same. */
  readonly onError: (key: string, error: unknown) => void;
  /** How many keys are worked on at once. Default 4. One key is never worked on twice at once. */
  readonly concurrency?: number;
  readonly schedule?: Schedule;
}

const firstRetryMilliseconds = 20;
const longestRetryMilliseconds = 60_000;

/**
 * A queue of keys to reconcile: a key that is added often is worked on once, a key that is added while it is worked on
 * is worked on again afterwards, and a failure is retried after 20 ms, doubling up to a minute (upstream: client-go's
 * rate-limited work queue).
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #schedule: Schedule;
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, { readonly cancel: () => void; readonly dueAfter: number }>();
  #isStopped = false;
  #idle: (() => void)[] = [];

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#schedule = options.schedule ?? systemSchedule;
  }

  /** Asks for a key to be reconciled soon. */
  add(key: string): void {
    if (this.#isStopped) return;
    this.#waiting.add(key);
    this.#next();
  }

  /** Asks for a key to be reconciled after a time; a shorter wait replaces a longer one. */
  addAfter(key: string, milliseconds: number): void {
    if (this.#isStopped) return;
    const pending = this.#timers.get(key);
    if (pending !== undefined && pending.dueAfter <= milliseconds) return;
    pending?.cancel();
    const cancel = this.#schedule(() => {
      this.#timers.delete(key);
      this.add(key);
    }, milliseconds);
    this.#timers.set(key, { cancel, dueAfter: milliseconds });
  }

  /** Takes no more work and forgets what waits. Resolves when what is being worked on is done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#waiting.clear();
    await this.whenIdle();
  }

  /** Resolves when nothing is worked on or waits (retries and later keys not counted). */
  whenIdle(): Promise<void> {
    if (this.#waiting.size === 0 && this.#working.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #next(): void {
    const concurrency = this.#options.concurrency ?? 4;
    for (const key of this.#waiting) {
      if (this.#working.size >= concurrency) return;
      if (this.#working.has(key)) continue;
      this.#waiting.delete(key);
      this.#working.add(key);
      void this.#work(key);
    }
    if (this.#waiting.size === 0 && this.#working.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #work(key: string): Promise<void> {
    try {
      await this.#options.reconcile(key);
      this.#failures.delete(key);
    } catch (error) {
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      this.#options.onError(key, error);
      this.addAfter(key, Math.min(longestRetryMilliseconds, firstRetryMilliseconds * 2 ** failures));
    }
    this.#working.delete(key);
    this.#next();
  }
}
