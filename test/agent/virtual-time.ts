import { setImmediate as turn } from "node:timers/promises";
import type { Sleep } from "../../src/machinery/api/clock.ts";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A clock that stands still, and sleepers that wake when a test advances the clock. */
export class VirtualTime {
  #now: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  readonly sleep: Sleep = (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const sleeper: Sleeper = {
        until: this.#now + Math.max(1, milliseconds),
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal.removeEventListener("abort", sleeper.wake);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal.addEventListener("abort", sleeper.wake);
    });

  /** Advances the clock, and wakes each sleeper at its time. */
  async advance(milliseconds: number): Promise<void> {
    const target = this.#now + milliseconds;
    await settle();
    for (;;) {
      const [next] = [...this.#sleepers].sort((one, other) => one.until - other.until);
      if (next === undefined || next.until > target) break;
      this.#now = next.until;
      next.wake();
      await settle();
    }
    this.#now = target;
  }

  /** Sets the clock as an administrator does; no timer fires. */
  jump(milliseconds: number): void {
    this.#now += milliseconds;
  }
}

/** Runs everything that does not wait for time to pass. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await turn();
}
