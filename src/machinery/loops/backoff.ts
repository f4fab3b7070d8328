/** How long to wait after failures in a row. Milliseconds. */
export interface Backoff {
  readonly firstMilliseconds: number;
  readonly longestMilliseconds: number;
}

/** For a server that cannot be reached, or answers with an error: it may work again in a moment. */
export const unreachableBackoff: Backoff = { firstMilliseconds: 500, longestMilliseconds: 30_000 };

/**
 * Returns how long to wait, in milliseconds, after the n-th failure in a row (from 1). The wait doubles up to the longest. Half of
 * it is random, so that many machines that lost a server do not all return at the same moment. `random` is from 0 to 1.
 */
export function backoffMilliseconds(
  { firstMilliseconds, longestMilliseconds }: Backoff,
  { failures, random }: { readonly failures: number; readonly random: number },
): number {
  const whole = Math.min(longestMilliseconds, firstMilliseconds * 2 ** Math.min(failures - 1, 30));
  return whole / 2 + (whole / 2) * random;
}
