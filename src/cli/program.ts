import { Command, CommanderError } from "commander";
import { ApiError } from "../machinery/api/api-error.ts";
import { KubeconfigError } from "../machinery/client/kubeconfig.ts";
import type { AgentSettings } from "../agent/agent-settings.ts";
import { fileFailureReason, UnusableFile } from "../machinery/files/unusable-file.ts";
import { PkiError } from "../pki/pki-error.ts";
import { agent } from "./agent-command.ts";
import { bootstrapToken } from "../features/nodes/commands.ts";
import { certificates } from "../features/certificates/commands.ts";
import type { ConnectionFlags } from "../machinery/command-line/connection.ts";
import { completion } from "./completion-command.ts";
import { controllers } from "./controllers-command.ts";
import { csr } from "../features/certificates/commands.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { kubeconfig } from "./kubeconfig-command.ts";
import { serve } from "./serve-command.ts";
import { backup, restore, storage } from "./storage-commands.ts";
import type { StoragePrograms } from "./storage-commands.ts";
import type { RemoteControllerConfig } from "../server/controller-settings.ts";
import type { ServerConfig } from "../server/server-config.ts";
import { signetVersion } from "../server/signet-version.ts";
import { token } from "../features/accounts/commands.ts";
import { trust } from "../features/certificates/commands.ts";
import { whoami } from "../features/access/commands.ts";

/** The commands that are more than calls of the API. */
export interface Programs extends StoragePrograms {
  serve(config: ServerConfig): Promise<void>;
  agent(settings: AgentSettings): Promise<void>;
  controllers(config: RemoteControllerConfig, flags: ConnectionFlags): Promise<void>;
}

/** Every command with its flags. */
export const signetCommand = (programs: Programs): Command =>
  new Command("signet")
    .description("A standalone identity and certificate control plane that speaks Kubernetes API conventions")
    .version(signetVersion, "-V, --version", "print the version")
    .addCommand(serve((config) => programs.serve(config)))
    .addCommand(agent((settings) => programs.agent(settings)))
    .addCommand(controllers((config, flags) => programs.controllers(config, flags)))
    .addCommand(backup((config, options) => programs.backUp(config, options)))
    .addCommand(restore((config, options) => programs.restore(config, options)))
    .addCommand(storage((config, options) => programs.migrateStorage(config, options)))
    .addCommand(bootstrapToken())
    .addCommand(whoami())
    .addCommand(token())
    .addCommand(kubeconfig())
    .addCommand(csr())
    .addCommand(certificates())
    .addCommand(trust())
    .addCommand(completion());

/**
 * Parses the command line and runs one command. A wrong flag or file is one line on standard error and exit code 2; a
 * server's refusal is one line and exit code 1.
 */
export async function runCommandLine(argv: readonly string[], programs: Programs): Promise<void> {
  const program = signetCommand(programs);
  for (const command of everyCommand(program)) command.exitOverride().configureOutput({ outputError: () => {} });
  // Without a listener a closed pipe or a full disk would end the process with a stack trace.
  process.stdout.on("error", (error) => {
    process.exitCode = 1;
    console.error(`signet: cannot write to standard output: ${fileFailureReason(error)}`);
  });
  process.stderr.on("error", () => {});
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
}

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];

/** Says what went wrong, in one line, and returns the exit code. A bug keeps its stack. */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (error.code !== "commander.help") console.error(error.message.replace(/^error: /, "signet: "));
    return 2;
  }
  if (
    error instanceof UsageError ||
    error instanceof KubeconfigError ||
    error instanceof UnusableFile ||
    error instanceof PkiError
  ) {
    console.error(`signet: ${error.message}`);
    return 2;
  }
  if (error instanceof ApiError) {
    console.error(`signet: the server refused (${error.code} ${error.reason ?? ""}): ${error.message}`);
    return 1;
  }
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    console.error(`signet: ${error.message}`);
    return 1;
  }
  console.error(error);
  return 1;
}
