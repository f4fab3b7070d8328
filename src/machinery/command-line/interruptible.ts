import { CommandFailure } from "./command-failure.ts";
import type { ExitName } from "./command-failure.ts";
import { passedOnMilliseconds } from "./stop-signal.ts";

const exits: ReadonlyMap<NodeJS.Signals, ExitName> = new Map([
  ["SIGINT", "interrupted"],
  ["SIGTERM", "terminated"],
  ["SIGHUP", "hungUp"],
]);

/**
 * Runs work that Ctrl-C, SIGTERM or the end of the terminal may end early. Each of these aborts the signal. The reason is a CommandFailure
 * that names the process signal, and ends with `left`: what the work leaves behind. A process signal that comes more than a second later
 * ends the process at once.
 */
export async function interruptible<T>(left: string, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (signal: NodeJS.Signals): void => {
    const exit = exits.get(signal) ?? "terminated";
    interruption.abort(new CommandFailure(`ended by ${signal}; ${left}`, { exit }));
    setTimeout(leaveSignals, passedOnMilliseconds).unref();
  };
  const leaveSignals = (): void => {
    for (const signal of exits.keys()) process.off(signal, interrupt);
  };
  for (const signal of exits.keys()) process.on(signal, interrupt);
  try {
    return await run(interruption.signal);
  } finally {
    leaveSignals();
  }
}
