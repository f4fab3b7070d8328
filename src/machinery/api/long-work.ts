import { setImmediate } from "node:timers/promises";

/** How long a computation may keep everything else waiting. */
const turnMilliseconds = 5;

/** Divides a long computation into turns, so that requests and timers come in between. */
export class LongWork {
  #turnStartedAt = performance.now();
  /** The time that the computation itself has taken so far. */
  #busyMilliseconds = 0;

  /** Call it after each small step. Undefined: go on; else wait for it. */
  pause(): Promise<void> | undefined {
    return performance.now() - this.#turnStartedAt < turnMilliseconds ? undefined : this.#wait();
  }

  get busyMilliseconds(): number {
    return this.#busyMilliseconds + performance.now() - this.#turnStartedAt;
  }

  async #wait(): Promise<void> {
    this.#busyMilliseconds += performance.now() - this.#turnStartedAt;
    await setImmediate();
    this.#turnStartedAt = performance.now();
  }
}
