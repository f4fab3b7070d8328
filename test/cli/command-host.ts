/**
 * Runs command lines one after the other in one process, which costs milliseconds each where a process of their own costs
 * half a second. The parent sends the words and the environment, and gets the exit code and what was printed.
 */
import { runIssueProgram } from "../../src/agent/issue-program.ts";
import { signetCommand } from "../../src/cli/program.ts";
import type { Programs } from "../../src/cli/program.ts";
import { runCommandLine } from "../../src/cli/run-command-line.ts";

export interface HostedCommand {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface HostedOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const notHere = async (): Promise<void> => {
  throw new Error("programs that are more than calls of the API have processes of their own in the tests");
};

const programs: Programs = {
  serve: notHere,
  agent: notHere,
  issue: runIssueProgram,
  controllers: notHere,
  backUp: notHere,
  restore: notHere,
  migrateStorage: notHere,
  tokenKeys: { list: notHere, rotate: notHere, retire: notHere },
  encryption: notHere,
  authorities: { list: notHere, prepare: notHere, switchTo: notHere, retire: notHere, abort: notHere },
  doctor: notHere,
  supportBundle: notHere,
};

async function run({ words, environment }: HostedCommand): Promise<HostedOutcome> {
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    process[name].removeAllListeners("error");
    process[name].write = (chunk: unknown): boolean => {
      printed[name] += String(chunk);
      return true;
    };
  }
  const before = { ...process.env };
  Object.assign(process.env, environment);
  process.exitCode = 0;
  await runCommandLine(["node", "signet", ...words], signetCommand(programs));
  process.env = before;
  const outcome = { code: process.exitCode, ...printed };
  process.exitCode = 0;
  return outcome;
}

process.on("message", (command: HostedCommand) => {
  void run(command).then((outcome) => process.send?.(outcome));
});
