/**
 * One press of Ctrl-C may send two signals: the terminal sends one to every process, and npm, or another one that started this, passes
 * its own on. So does `timeout`.
 */
export const passedOnMilliseconds = 1000;

/**
 * Resolves with the first SIGTERM or SIGINT, which then no longer end the process. Each one that comes more than a second later calls
 * `endNow`. One listener does both: between a first that is taken away and a second, a signal would end the process by Node's default.
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
