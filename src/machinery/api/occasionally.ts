const quietMilliseconds = 60_000;

/**
 * Tells of something that may happen many times a second: the first time at once, then at most once a minute, each time
 * with how often it has happened since it was last told.
 */
export function occasionally<T>(tell: (latest: T, count: number) => void): (latest: T) => void {
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
