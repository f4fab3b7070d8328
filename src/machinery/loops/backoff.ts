/** How long to wait after failures in a row. Milliseconds. */
export interface Backoff {
  readonly firstMilliseconds: number;
  readonly longestMilliseconds: number;
}

/** The server is away, or answers with an error: it may be back in a moment. */
export const unreachableBackoff: Backoff = { firstMilliseconds: 500, longestMilliseconds: 30_000 };

/**
 * The wait after the n-th failure in a row (from 1): it doubles up to the longest. Half of it is random, so that many
 * machines that lost a server do not return as one. `random` is from 0 to 1.
 */
export function backoffMilliseconds(
  { firstMilliseconds, longestMilliseconds }: Backoff,
  { failures, random }: { readonly failures: number; readonly random: number },
): number {
  const whole = Math.min(longestMilliseconds, firstMilliseconds * 2 ** Math.min(failures - 1, 30));
  return whole / 2 + (whole / 2) * random;
}
