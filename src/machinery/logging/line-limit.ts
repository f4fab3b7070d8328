import type { Clock } from "../api/clock.ts";

interface LineLimitOptions {
  readonly clock: Clock;
  /** How many lines are written in an interval. */
  readonly lines: number;
  readonly intervalMilliseconds: number;
}

/** Allows so many lines in an interval, and counts the others, so that they cannot fill the log. */
export class LineLimit {
  readonly #options: LineLimitOptions;
  #intervalStart = -Infinity;
  #written = 0;
  #leftOut = 0;

  constructor(options: LineLimitOptions) {
    this.#options = options;
  }

  /** Asks for one line. Returns the number of lines that were omitted since the last allowed one. Undefined: omit this line too. */
  take(): number | undefined {
    const { clock, lines, intervalMilliseconds } = this.#options;
    const now = clock.now();
    if (Math.abs(now - this.#intervalStart) >= intervalMilliseconds) {
      this.#intervalStart = now;
      this.#written = 0;
    }
    if (this.#written === lines) {
      this.#leftOut++;
      return undefined;
    }
    this.#written++;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}
