import { setTimeout as delay } from "node:timers/promises";
import type { Administrator } from "./administrator.ts";

const pauseMilliseconds = 50;

/**
 * Requests the server's health again and again while inputs are sent, to measure how long other clients wait. The result is only
 * reported, because on a busy machine everybody waits. Only the main thread's own time can be a fault.
 */
export class LatencyProbe {
  readonly #administrator: Administrator;
  readonly #stopped = new AbortController();
  #longestMilliseconds = 0;

  constructor(administrator: Administrator) {
    this.#administrator = administrator;
  }

  /** Resolves when the probe is stopped, or when the server no longer answers (other code reports this). */
  async run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const startedAt = performance.now();
      try {
        await this.#administrator.send("GET", "/livez");
      } catch {
        return;
      }
      this.#longestMilliseconds = Math.max(this.#longestMilliseconds, performance.now() - startedAt);
      await delay(pauseMilliseconds);
    }
  }

  /** Returns how long the longest answer took. */
  stop(): number {
    this.#stopped.abort();
    return this.#longestMilliseconds;
  }
}
