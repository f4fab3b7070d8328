import type { Command } from "commander";
import { UsageError } from "../machinery/command-line/flag.ts";

/**
 * Refuses empty arguments and flags: they come from shell variables that are not set. An empty name would be read as the
 * list of all objects, and an empty token as no credentials. Settings of servers are checked by their types.
 */
export function refuseEmptyValues(command: Command): void {
  if (!command.options.some(({ long }) => long === "--timeout")) return;
  if (command.args.includes("")) throw empty("an argument");
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value === "" || (Array.isArray(value) && value.includes(""))) throw empty(option.long ?? "a flag");
  }
}

const empty = (what: string): UsageError =>
  new UsageError(`${what} is empty; give a value (is a shell variable not set?)`);
