import type { Command } from "commander";

/** The rest of the command line, besides a command's argument. */
interface ActionOptions<Flags> {
  readonly flags: Flags;
  readonly self: Command;
}

/** The action of a command with one argument. */
export const argumentAction =
  <Argument = string, Flags = unknown>(act: (argument: Argument, options: ActionOptions<Flags>) => Promise<void>) =>
  // oxlint-disable-next-line max-params -- what commander gives
  (argument: Argument, flags: Flags, self: Command): Promise<void> =>
    act(argument, { flags, self });
