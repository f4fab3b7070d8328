/**
 * One press of Ctrl-C may send two signals: the terminal signals every process, and a parent such as npm passes its own signal on. So does
 * `timeout`.
 */
export const passedOnMilliseconds = 1000;

/**
 * Resolves with the first SIGTERM or SIGINT. From the call on, these signals do not end the process by themselves: each that comes more
 * than a second after the first calls `endNow`. One listener handles both, because a signal between the removal of one listener and the
 * addition of another would end the process.
 */
export function stopSignal(endNow: () => void, now = (): number => performance.now()): Promise<string> {
  return new Promise((resolve) => {
    let stoppingSince: number | undefined;
    const onSignal = (signal: string): void => {
      stoppingSince ??= now();
      if (now() - stoppingSince > passedOnMilliseconds) endNow();
      resolve(signal);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  });
}
