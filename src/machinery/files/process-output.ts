import { LineWriter } from "./line-writer.ts";
import { standardOutput } from "./log-output.ts";

const maximumBytes = 4096;

/**
 * Returns what writes a line to the standard output of a long-running process, such as that it is ready. The console
 * would block the process while a pipe is full and its reader does not read. Here such lines wait, 4 KiB at most.
 */
export function openProcessOutput(): (line: string) => void {
  const writer = new LineWriter({ output: standardOutput(1), maximumBytes, flushMilliseconds: 0 });
  process.once("exit", () => writer.flushNow());
  return (line) => {
    writer.write(`${line}\n`);
    // Before its caller tells others that it is ready.
    writer.flushNow();
  };
}
