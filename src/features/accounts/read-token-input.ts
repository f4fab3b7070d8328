import { announceTerminalInput } from "../../machinery/command-line/announce-terminal-input.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";

const longestTokenBytes = 64 * 1024;

/** Reads a token from standard input, which keeps it out of the process list. Throws UsageError when there is none. */
export async function readTokenInput(): Promise<string> {
  announceTerminalInput("the token");
  let text = "";
  for await (const chunk of process.stdin) {
    text += String(chunk);
    if (text.length > longestTokenBytes)
      throw new UsageError("standard input is too long for a token: pipe only the token into this command");
  }
  if (text.trim() === "") throw new UsageError("there is no token: give one, or write it to standard input");
  return text.trim();
}
