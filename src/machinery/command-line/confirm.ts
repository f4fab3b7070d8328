import { createInterface } from "node:readline/promises";

/** Asks a yes-or-no question on the terminal. Without a terminal, or when the input ends, the answer is no. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const { promise: ended, resolve } = Promise.withResolvers<undefined>();
  terminal.once("close", () => resolve(undefined));
  // Without this listener, Ctrl-C would only close the prompt.
  terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended]);
    // Ctrl-D leaves the cursor behind the question.
    if (answer === undefined) process.stderr.write("\n");
    return /^y(es)?$/i.test((answer ?? "").trim());
  } finally {
    terminal.close();
  }
}
