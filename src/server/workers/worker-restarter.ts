import { backoffMilliseconds } from "../../machinery/loops/backoff.ts";
import type { Sleep } from "../../machinery/api/clock.ts";
import type { Backoff } from "../../machinery/loops/backoff.ts";

interface WorkerRestarterOptions {
  /** Starts a worker. Resolves when it serves. */
  readonly start: () => Promise<unknown>;
  /** Called for each failed start, with the number of consecutive failures. */
  readonly onFailure: (error: unknown, failures: number) => void;
  readonly sleep: Sleep;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
}

const backoff: Backoff = { firstMilliseconds: 500, longestMilliseconds: 30_000 };
/** A worker that served for this long did not fail at its start. */
const steadyMilliseconds = 10_000;

/**
 * Starts a new worker for each that has ended, one at a time. After a worker that served for a while, the next starts at once. After a
 * worker that ended early or could not start, the next starts after a wait that doubles up to 30 s, so that repeated failures do not
 * overload the machine.
 */
export class WorkerRestarter {
  readonly #options: WorkerRestarterOptions;
  readonly #stopping = new AbortController();
  #missing = 0;
  #failures = 0;
  #isRunning = false;

  constructor(options: WorkerRestarterOptions) {
    this.#options = options;
  }

  ended({ servedMilliseconds }: { readonly servedMilliseconds: number }): void {
    this.#failures = servedMilliseconds < steadyMilliseconds ? this.#failures + 1 : 0;
    this.#missing++;
    if (!this.#isRunning) void this.#run();
  }

  /** Ends a wait immediately. Nothing is started afterwards. */
  stop(): void {
    this.#stopping.abort();
  }

  async #run(): Promise<void> {
    const { start, onFailure, sleep, random } = this.#options;
    const { signal } = this.#stopping;
    this.#isRunning = true;
    while (this.#missing > 0) {
      const failures = this.#failures;
      if (failures > 0) await sleep(backoffMilliseconds(backoff, { failures, random: random() }), signal);
      if (signal.aborted) return;
      try {
        await start();
        this.#missing--;
      } catch (error) {
        if (!signal.aborted) onFailure(error, ++this.#failures);
      }
    }
    this.#isRunning = false;
  }
}
