/**
 * Runs command lines one after the other in one process, which costs milliseconds each where a process of their own costs
 * half a second. The parent sends the words and the environment, and gets the exit code and what was printed.
 */
import { setImmediate as turn } from "node:timers/promises";
import { signetCommand } from "../../src/cli/program.ts";
import { runCommandLine } from "../../src/cli/run-command-line.ts";
import { programs } from "../../src/programs.ts";

export interface HostedCommand {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Whether standard output is on a full disk. */
  readonly isOutputFull: boolean;
}

export interface HostedOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a stream does when a full disk does not take its text. */
function failToWrite(): boolean {
  process.nextTick(() => {
    process.stdout.emit(
      "error",
      Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" }),
    );
  });
  return false;
}

async function run({ words, environment, isOutputFull }: HostedCommand): Promise<HostedOutcome> {
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    process[name].removeAllListeners("error");
    process[name].write = (chunk: unknown): boolean => {
      printed[name] += String(chunk);
      return name === "stdout" && isOutputFull ? failToWrite() : true;
    };
  }
  const before = { ...process.env };
  Object.assign(process.env, environment);
  process.exitCode = 0;
  await runCommandLine(["node", "signet", ...words], signetCommand(programs));
  await turn();
  process.env = before;
  const outcome = { code: process.exitCode, ...printed };
  process.exitCode = 0;
  return outcome;
}

// Commands add listeners for the end of their process, but this process continues.
process.setMaxListeners(0);
process.on("message", (command: HostedCommand) => {
  void run(command).then((outcome) => process.send?.(outcome));
});
