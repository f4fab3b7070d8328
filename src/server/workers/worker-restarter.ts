import { backoffMilliseconds } from "../../machinery/loops/repetition.ts";
import type { Backoff, Sleep } from "../../machinery/loops/repetition.ts";

export interface WorkerRestarterOptions {
  /** Resolves when what was started serves. */
  readonly start: () => Promise<unknown>;
  /** Called with each start that failed, and how many failures there were in a row. */
  readonly onFailure: (error: unknown, failures: number) => void;
  readonly sleep: Sleep;
  /** From 0 to 1. */
  readonly random: () => number;
}

const backoff: Backoff = { firstMilliseconds: 500, longestMilliseconds: 30_000 };
/** What has served for so long did not end because it could not be started. */
const steadyMilliseconds = 10_000;

/**
 * Starts again what has ended, one at a time. What served for a while is started at once; what ended soon, or could not be
 * started, after a wait that doubles up to half a minute: a machine where nothing can start is left in peace.
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

  /** Ends a wait at once; nothing is started any more. */
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
