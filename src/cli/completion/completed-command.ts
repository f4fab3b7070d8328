import type { Command, Option } from "commander";

/** What a shell offers for the value of a flag or an argument: words, files, or nothing. */
export type CompletedValue = readonly string[] | "files" | "nothing";

export interface CompletedFlag {
  /** `--key-file`, and `-n` when the flag has a short form. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined for a flag that takes no value, or whose value is optional. */
  readonly value: CompletedValue | undefined;
}

/** One command as shells complete it. */
export interface CompletedCommand {
  /** `signet csr create`. */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly flags: readonly CompletedFlag[];
  /** The values of its arguments. */
  readonly argument: CompletedValue;
}

/** The command and everything below it, parents first. */
export function completedCommands(command: Command, parents = ""): CompletedCommand[] {
  const path = `${parents} ${command.name()}`.trim();
  const help = command.createHelp();
  // commander's own `help` command offers no more than `--help`.
  const subcommands = help.visibleCommands(command).filter((child) => child.name() !== "help");
  return [
    {
      path,
      subcommands: subcommands.map((child) => ({ name: child.name(), description: oneLine(child.description()) })),
      flags: help.visibleOptions(command).map(completedFlag),
      argument: valueOf(command.registeredArguments[0]?.argChoices, command.registeredArguments[0]?.name() ?? ""),
    },
    ...subcommands.flatMap((child) => completedCommands(child, path)),
  ];
}

const completedFlag = ({ short, long, description, required, flags, argChoices }: Option): CompletedFlag => ({
  names: [long, short].filter((name) => name !== undefined),
  description: oneLine(description),
  value: required ? valueOf(argChoices, flags) : undefined,
});

/**
 * The values of a flag or an argument. Its name and placeholder tell whether it is a file: `<file>`, `<source:file>`, `--data-dir <value>`.
 */
const valueOf = (choices: readonly string[] | undefined, placeholder: string): CompletedValue =>
  choices ?? (/\b(?:file|folder)>?$|-(?:file|dir) </.test(placeholder) ? "files" : "nothing");

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
