import type { Command } from "commander";
import { signetCommand } from "../../src/cli/program.ts";

export interface LeafCommand {
  readonly command: Command;
  /** `signet csr create`. */
  readonly words: string;
}

/** `signet` itself, of which no command runs. */
export function describedProgram(): Command {
  const runsNothing = async (): Promise<void> => {};
  return signetCommand({
    serve: runsNothing,
    agent: runsNothing,
    issue: runsNothing,
    controllers: runsNothing,
    backUp: runsNothing,
    restore: runsNothing,
    migrateStorage: runsNothing,
    tokenKeys: { list: runsNothing, rotate: runsNothing, retire: runsNothing },
    doctor: runsNothing,
    supportBundle: runsNothing,
  });
}

/** The commands that do something: those without commands of their own. Those that help does not show are left out. */
export const leafCommands = (): LeafCommand[] => leavesOf(describedProgram(), "");

const leavesOf = (command: Command, parents: string): LeafCommand[] => {
  const words = `${parents} ${command.name()}`.trim();
  return command.commands.length === 0
    ? [{ command, words }]
    : command
        .createHelp()
        .visibleCommands(command)
        .filter((child) => child.name() !== "help")
        .flatMap((child) => leavesOf(child, words));
};

/** `<name>`, or `[name...]` for one that may be left out and repeated. */
export function argumentText(argument: Command["registeredArguments"][number]): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
