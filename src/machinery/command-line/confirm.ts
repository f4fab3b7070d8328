import { createInterface } from "node:readline/promises";

/** Asks a yes-or-no question on the terminal. Without a terminal, or when the input ends, the answer is no. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  terminal.once("close", () => resolve(""));
  // A listener here would otherwise be the terminal's own, which only closes it.
  terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    return /^y(es)?$/i.test((await Promise.race([terminal.question(`${question} [y/N] `), ended])).trim());
  } finally {
    terminal.close();
  }
}
