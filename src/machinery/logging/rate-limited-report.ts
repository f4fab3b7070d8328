import { monotonicClock } from "../api/clock.ts";
import { LineLimit } from "./line-limit.ts";

/**
 * Limits a report that could be made many times a second. Reports the first event at once, then at most one per minute, with the number of
 * events since the last report.
 */
export function rateLimitedReport<T>(tell: (latest: T, count: number) => void): (latest: T) => void {
  const limit = new LineLimit({ clock: monotonicClock, lines: 1, intervalMilliseconds: 60_000 });
  return (latest) => {
    const leftOut = limit.take();
    if (leftOut !== undefined) tell(latest, leftOut + 1);
  };
}
