import type { Command } from "commander";
import { signetCommand } from "../../src/cli/program.ts";

export interface LeafCommand {
  readonly command: Command;
  /** `signet csr create`. */
  readonly words: string;
}

/** `signet` itself, whose commands are only described and never run. */
export function signetWithoutPrograms(): Command {
  const runsNothing = async (): Promise<void> => {};
  return signetCommand({
    serve: runsNothing,
    agent: runsNothing,
    issue: runsNothing,
    controllers: runsNothing,
    backUp: runsNothing,
    restore: runsNothing,
    migrateStorage: runsNothing,
    tokenKeys: { list: runsNothing, rotate: runsNothing, retire: runsNothing, reseal: runsNothing },
    encryption: runsNothing,
    authorities: {
      list: runsNothing,
      prepare: runsNothing,
      switchTo: runsNothing,
      retire: runsNothing,
      abort: runsNothing,
    },
    doctor: runsNothing,
    supportBundle: runsNothing,
  });
}

/** The commands that do something, of `signet` or another program, without commands that help does not show. */
export function leafCommands(command: Command = signetWithoutPrograms(), parents = ""): LeafCommand[] {
  const words = `${parents} ${command.name()}`.trim();
  const children = command.commands.length === 0 ? [] : command.createHelp().visibleCommands(command);
  return [
    ...(doesSomething(command) ? [{ command, words }] : []),
    ...children.filter((child) => child.name() !== "help").flatMap((child) => leafCommands(child, words)),
  ];
}

/** A command that only holds others has no flags of its own. */
const doesSomething = ({ commands, options }: Command): boolean =>
  commands.length === 0 || options.some(({ long }) => long !== "--version");

/** `<name>`, or `[name...]` for an argument that may be left out and repeated. */
export function argumentText(argument: Command["registeredArguments"][number]): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
