import { CommandFailure } from "./command-failure.ts";

/**
 * Runs something that Ctrl-C or SIGTERM ends early, and in order: both abort its signal, with a CommandFailure that names the signal
 * and then says what is left behind. The same signal again ends the process at once.
 */
export async function interruptible<T>(left: string, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (signal: NodeJS.Signals): void => {
    const exit = signal === "SIGINT" ? "interrupted" : "terminated";
    interruption.abort(new CommandFailure(`ended by ${signal}; ${left}`, { exit }));
  };
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    return await run(interruption.signal);
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}
