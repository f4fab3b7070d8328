import type { Clock } from "../api/clock.ts";

interface LineLimitOptions {
  readonly clock: Clock;
  /** How many lines are written in an interval. */
  readonly lines: number;
  readonly intervalMilliseconds: number;
  /** Called with the number of lines that were not written, before the first line after them. */
  readonly onSuppressed: (lines: number) => void;
}

/** Lets so many lines pass in an interval, and counts the others, so that they cannot fill the log. */
export class LineLimit {
  readonly #options: LineLimitOptions;
  #intervalStart = -Infinity;
  #written = 0;
  #suppressed = 0;

  constructor(options: LineLimitOptions) {
    this.#options = options;
  }

  /** Whether the next line may be written. */
  take(): boolean {
    const { clock, lines, intervalMilliseconds, onSuppressed } = this.#options;
    const now = clock.now();
    if (Math.abs(now - this.#intervalStart) >= intervalMilliseconds) {
      const suppressed = this.#suppressed;
      this.#intervalStart = now;
      this.#written = 0;
      this.#suppressed = 0;
      if (suppressed > 0) onSuppressed(suppressed);
    }
    if (this.#written === lines) {
      this.#suppressed += 1;
      return false;
    }
    this.#written += 1;
    return true;
  }
}
