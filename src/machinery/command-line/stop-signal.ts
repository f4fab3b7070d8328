/**
 * Resolves with the first SIGTERM or SIGINT, which then no longer end the process. Each later one calls `endNow`. One listener does
 * both: between a first that is taken away and a second, a signal would end the process by Node's default.
 */
export function stopSignal(endNow: () => void): Promise<string> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (signal: string): void => {
      if (isStopping) endNow();
      isStopping = true;
      resolve(signal);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  });
}
