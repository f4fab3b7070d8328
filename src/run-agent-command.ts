import { Command } from "commander";
import { runAgentProgram } from "./agent/agent-program.ts";
import { agent } from "./cli/agent-command.ts";
import type { AgentCommandWords } from "./cli/agent-command.ts";
import { runCommandLine } from "./cli/run-command-line.ts";
import { signetVersion } from "./server/signet-version.ts";

/** Runs an agent's command without the rest of Signet: an agent runs on every machine, all the time. */
export function runAgentCommand(words: AgentCommandWords): Promise<void> {
  const command = agent(words, (program) => runAgentProgram(program, signetVersion));
  const program = words === "signet-agent" ? command : new Command("signet").addCommand(command);
  return runCommandLine(process.argv, program.version(signetVersion, "-V, --version", "print the version"));
}
