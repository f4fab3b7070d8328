import { systemSchedule } from "../api/clock.ts";
import type { Schedule } from "../api/clock.ts";
import { LongWork } from "../scheduling/long-work.ts";

/** Counts the work of one loop's queue since the process started. The queue changes it. */
export interface QueueCount {
  /** The keys that wait for their turn now, without the delayed ones. */
  depth: number;
  adds: number;
  retries: number;
}

/** The counts of all loops, by name. They continue when the process becomes the leader again and makes new queues. */
export class QueueCounts {
  readonly #byName = new Map<string, QueueCount>();

  of(name: string): QueueCount {
    const known = this.#byName.get(name) ?? { depth: 0, adds: 0, retries: 0 };
    this.#byName.set(name, known);
    return known;
  }

  entries(): Iterable<readonly [name: string, count: Readonly<QueueCount>]> {
    return this.#byName;
  }
}

export interface WorkQueueOptions {
  /** Brings the object of the key to its desired state. When it throws, the key is retried with growing delays. */
  readonly reconcile: (key: string) => Promise<void>;
  /** Called for every failure. The key is retried anyway. */
  readonly onError: (key: string, error: unknown) => void;
  /** How many keys are reconciled in parallel. Default 4. The same key never runs twice at once. */
  readonly concurrency?: number;
  readonly schedule?: Schedule;
  /** The counts that the queue updates. */
  readonly count?: QueueCount;
}

const firstRetryMilliseconds = 20;
const longestRetryMilliseconds = 60_000;
const longestDelayMilliseconds = 24 * 3_600_000;
/** Longer delays are rounded up to whole seconds. */
const longestExactMilliseconds = 60_000;

/**
 * A queue of keys to reconcile. A key that is added several times is reconciled once. A key that is added during its
 * own reconciliation is reconciled again afterwards. A failure is retried after 20 ms, doubling up to a minute
 * (upstream: client-go's rate-limited work queue).
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #schedule: Schedule;
  readonly #count: QueueCount;
  readonly #waiting = new Set<string>();
  /** An iterator over the waiting keys. It is kept, because a new one would first search through all keys that were taken before. */
  #order = this.#waiting.values();
  readonly #working = new Set<string>();
  /** Keys that were added while they were reconciled. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, { readonly cancel: () => void; readonly dueAfter: number }>();
  /** Measures the reconciliations of this turn of the event loop. Undefined: none has begun in it. */
  #turn: LongWork | undefined;
  #isStopped = false;
  #idle: (() => void)[] = [];

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#schedule = options.schedule ?? systemSchedule;
    this.#count = options.count ?? { depth: 0, adds: 0, retries: 0 };
  }

  /** Queues a key for reconciliation now. */
  add(key: string): void {
    if (this.#isStopped) return;
    const added = this.#working.has(key) ? this.#again : this.#waiting;
    if (!added.has(key)) this.#count.adds++;
    added.add(key);
    this.#next();
  }

  /**
   * Queues a key for reconciliation after a delay; now, if the delay is 0 or negative. A shorter delay replaces a longer one that was given
   * before, and is counted from now; a longer one is ignored. After a day the key is reconciled in any case, because timers hold no more
   * than 2^31 ms. A delay of more than a minute is rounded up to whole seconds: Node.js keeps a list for each duration, and exact delays
   * would make a list for each key.
   */
  addAfter(key: string, delayMilliseconds: number): void {
    if (this.#isStopped) return;
    if (delayMilliseconds <= 0) return this.add(key);
    const milliseconds = Math.min(rounded(delayMilliseconds), longestDelayMilliseconds);
    const pending = this.#timers.get(key);
    if (pending !== undefined && pending.dueAfter <= milliseconds) return;
    pending?.cancel();
    const cancel = this.#schedule(() => {
      this.#timers.delete(key);
      this.add(key);
    }, milliseconds);
    this.#timers.set(key, { cancel, dueAfter: milliseconds });
  }

  /** Accepts no more keys and drops the waiting ones. Resolves when the running reconciliations are done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#waiting.clear();
    this.#again.clear();
    this.#count.depth = 0;
    await this.whenIdle();
  }

  /** Resolves when nothing runs or waits, not counting retries and delayed keys. */
  whenIdle(): Promise<void> {
    if (this.#waiting.size === 0 && this.#working.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #next(): void {
    const concurrency = this.#options.concurrency ?? 4;
    while (this.#working.size < concurrency && this.#waiting.size > 0) {
      const { value: key, done } = this.#order.next();
      if (done === true) this.#order = this.#waiting.values();
      else {
        this.#waiting.delete(key);
        this.#working.add(key);
        void this.#work(key);
      }
    }
    this.#count.depth = this.#waiting.size;
    if (this.#waiting.size === 0 && this.#working.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Reconciliations that await nothing would block requests and timers while many follow each other, so they pause in between. */
  #pause(): Promise<void> | undefined {
    if (this.#turn === undefined) {
      this.#turn = new LongWork();
      setImmediate(() => (this.#turn = undefined));
    }
    return this.#turn.pause();
  }

  async #work(key: string): Promise<void> {
    const pause = this.#pause();
    if (pause !== undefined) await pause;
    try {
      await this.#options.reconcile(key);
      this.#failures.delete(key);
    } catch (error) {
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      this.#count.retries++;
      this.#options.onError(key, error);
      this.addAfter(key, Math.min(longestRetryMilliseconds, firstRetryMilliseconds * 2 ** failures));
    }
    this.#working.delete(key);
    if (this.#again.delete(key)) this.#waiting.add(key);
    this.#next();
  }
}

const rounded = (milliseconds: number): number =>
  milliseconds <= longestExactMilliseconds ? milliseconds : Math.ceil(milliseconds / 1000) * 1000;
