import { Option } from "commander";
import type { Command } from "commander";
import type { Flag } from "./flag.ts";

export function flagOption(name: string, flag: Flag): Option {
  const value = {
    string: "value",
    file: "file",
    strings: "values",
    boolean: "true|false",
    integer: "number",
    duration: "duration",
  };
  const optional = flag.type === "boolean";
  const option = new Option(`--${name} ${optional ? `[${value.boolean}]` : `<${value[flag.type]}>`}`, describe(flag));
  if (flag.type === "strings")
    option.argParser((one: string, previous: unknown) => [...((previous as string[] | undefined) ?? []), one]);
  // Shown, and offered by shells. Not `choices()`: the values of the configuration file are checked the same way, later.
  if ("choices" in flag && flag.choices !== undefined) option.argChoices = [...flag.choices];
  return option;
}

/** Help shows the defaults, but the parser does not set them: the configuration file takes precedence over defaults. */
function describe(flag: Flag): string {
  const fallback = "default" in flag && flag.default !== undefined ? ` (default: ${String(flag.default)})` : "";
  return `${flag.help}${fallback}`;
}

/** Maps flag names to raw values. A boolean flag without a value is true. */
export function givenFlags(command: Command): Record<string, unknown> {
  return Object.fromEntries(
    command.options
      .filter((option) => command.getOptionValueSource(option.attributeName()) === "cli")
      .map((option) => [option.name(), command.getOptionValue(option.attributeName()) as unknown]),
  );
}
