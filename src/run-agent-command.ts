import { Command } from "commander";
import { runAgentProgram } from "./agent/agent-program.ts";
import { agent } from "./cli/agent/agent-command.ts";
import type { AgentCommandPath } from "./cli/agent/agent-command.ts";
import { runCommandLine } from "./cli/run-command-line.ts";
import { signetVersion } from "./server/signet-version.ts";

/** Runs an agent's command without loading the rest of Signet, because an agent runs on every machine, all the time. */
export function runAgentCommand(path: AgentCommandPath): Promise<void> {
  const command = agent(path, (program) => runAgentProgram(program, signetVersion));
  const program = path === "signet-agent" ? command : new Command("signet").addCommand(command);
  return runCommandLine(process.argv, program.version(signetVersion, "-V, --version", "print the version"));
}
