import { setTimeout as delay } from "node:timers/promises";
import type { Administrator } from "./administrator.ts";

const pauseMilliseconds = 50;

/**
 * Asks for the server's health again and again while inputs are tried: how long others wait. What it finds is told and not
 * judged, since a busy machine makes everybody wait; the main thread's own time is what is judged.
 */
export class LatencyProbe {
  readonly #administrator: Administrator;
  readonly #stopped = new AbortController();
  #longestMilliseconds = 0;

  constructor(administrator: Administrator) {
    this.#administrator = administrator;
  }

  /** Resolves when it was stopped, or the server does not answer any more (which others find). */
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
