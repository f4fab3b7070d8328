import type { Command } from "commander";
import { bashCompletion } from "./bash-completion.ts";
import { completedCommands } from "./completed-command.ts";
import { fishCompletion } from "./fish-completion.ts";
import { zshCompletion } from "./zsh-completion.ts";

const writers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** The shells for which there is a script. */
export type Shell = keyof typeof writers;

/** The script with which a shell completes a program's commands, flags and their values. */
export const completionScript = (shell: Shell, program: Command): string => writers[shell](completedCommands(program));
