const quietMilliseconds = 60_000;

/**
 * Limits a report that could come many times a second. Reports the first event at once, then at most one per minute,
 * with the number of events since the last report.
 */
export function rateLimitedReport<T>(tell: (latest: T, count: number) => void): (latest: T) => void {
  let untold = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (latest) => {
    untold++;
    const now = performance.now();
    if (now - toldAt < quietMilliseconds) return;
    toldAt = now;
    const count = untold;
    untold = 0;
    tell(latest, count);
  };
}
