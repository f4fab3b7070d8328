import { CommandFailure } from "./command-failure.ts";
import type { ExitName } from "./command-failure.ts";

const exits: ReadonlyMap<NodeJS.Signals, ExitName> = new Map([
  ["SIGINT", "interrupted"],
  ["SIGTERM", "terminated"],
  ["SIGHUP", "hungUp"],
]);

/**
 * Runs something that Ctrl-C, SIGTERM or the end of the terminal ends early, and in order: each aborts its signal, with a CommandFailure
 * that names the signal and then says what is left behind. The same signal again ends the process at once.
 */
export async function interruptible<T>(left: string, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (signal: NodeJS.Signals): void => {
    const exit = exits.get(signal) ?? "terminated";
    interruption.abort(new CommandFailure(`ended by ${signal}; ${left}`, { exit }));
  };
  for (const signal of exits.keys()) process.once(signal, interrupt);
  try {
    return await run(interruption.signal);
  } finally {
    for (const signal of exits.keys()) process.off(signal, interrupt);
  }
}
