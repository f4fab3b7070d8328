import type { Command } from "commander";

/** The purpose of an example, and its command line. */
export type Example = readonly [purpose: string, line: string];

const examples = new WeakMap<Command, readonly Example[]>();

/** Adds examples to a command's help. */
export function withExamples(command: Command, ...added: readonly Example[]): Command {
  examples.set(command, added);
  const lines = added.map(([purpose, line]) => `  # ${purpose}\n  ${line}`);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n\n")}`);
}

export const examplesOf = (command: Command): readonly Example[] => examples.get(command) ?? [];
