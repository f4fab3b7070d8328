import { UsageError } from "../machinery/command-line/flag.ts";

/** Runs something that Ctrl-C or SIGTERM ends early, and in order: both abort its signal, with a UsageError of this message. */
export async function interruptible<T>(message: string, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort(new UsageError(message));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    return await run(interruption.signal);
  } finally {
    process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", interrupt);
  }
}
