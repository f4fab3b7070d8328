import type { Clock, Schedule } from "../src/machinery/api/clock.ts";

/** Clocks and timers that move only when a test says so. */
export class ManualTime {
  #now: number;
  /** How far the time of day was set. */
  #stepMilliseconds = 0;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(now: number = Date.now()) {
    this.#now = now;
  }

  readonly clock: Clock = { now: () => this.#now + this.#stepMilliseconds };

  /** Like the timers, it knows nothing of `setClock`. */
  readonly monotonic: Clock = { now: () => this.#now };

  readonly schedule: Schedule = (callback, milliseconds) => {
    const timer = { at: this.#now + milliseconds, callback };
    this.#timers.push(timer);
    for (const resolve of this.#waiting.splice(0)) resolve();
    return () => (this.#timers = this.#timers.filter((one) => one !== timer));
  };

  /** Resolves when something waits for time to pass. */
  whenTimerIsSet(): Promise<void> {
    if (this.#timers.length > 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Sets the time of day forward, or back where it is negative. No time passes. */
  setClock(milliseconds: number): void {
    this.#stepMilliseconds += milliseconds;
  }

  /** Lets time pass, and sets off the timers that are due, in order. */
  pass(milliseconds: number): void {
    this.#now += milliseconds;
    const due = this.#timers.filter(({ at }) => at <= this.#now).toSorted((one, other) => one.at - other.at);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { callback } of due) callback();
  }
}
