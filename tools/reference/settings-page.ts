/** The configuration reference: the settings of the server, and the commands with their flags. */
import { Command } from "commander";
import type { Option } from "commander";
import { withConnectionFlags } from "../../src/machinery/command-line/connection.ts";
import type { Flag, Flags } from "../../src/machinery/command-line/flag.ts";
import { serveFlags } from "../../src/server/server-config.ts";
import { argumentText, leafCommands } from "./leaf-commands.ts";
import type { LeafCommand } from "./leaf-commands.ts";
import { cell, code, page, table } from "./markdown.ts";

const notice = "<!-- Written by `npm run docs:settings` from the flags. Do not edit. -->";

/** `docs/reference/settings.md`. */
export function settingsPage(): string {
  const commands = leafCommands().filter(({ command }) => command.name() !== "serve");
  return page(
    "# Settings and commands",
    notice,
    "`signet COMMAND --help` shows the same text. `npm start -- FLAGS` is `signet serve FLAGS`.",
    "## signet serve",
    "Each setting is a flag (`--secure-port 6443`), or a key of the YAML file that `--config FILE` names " +
      "(`secure-port: 6443`). Flags come first, then the file, then the defaults. A wrong setting ends the command with " +
      "one line and exit code 2.",
    flagTable(serveFlags),
    "## Connection flags",
    "Every command that speaks to a server takes these, by kubectl's names.",
    optionTable(connectionOptions),
    ...commands.map(commandSection),
  );
}

const connectionOptions = withConnectionFlags(new Command()).options;
const isOfConnection = ({ flags }: Option): boolean => connectionOptions.some((option) => option.flags === flags);

function commandSection({ command, words }: LeafCommand): string {
  const usage = [words, ...command.registeredArguments.map(argumentText)].join(" ");
  const explained = command.registeredArguments.filter(({ description }) => description !== "");
  const own = command.options.filter((option) => !isOfConnection(option));
  return page(
    `## ${words}`,
    `${sentence(command.description())} Usage: ${code(`${usage} [flags]`)}.`,
    explained.map((one) => `- ${code(argumentText(one))}: ${cell(one.description)}`).join("\n"),
    own.length === 0 ? "" : optionTable(own),
    own.length === command.options.length ? "" : "Also the [connection flags](#connection-flags).",
  ).trimEnd();
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${cell(text.slice(1))}.`;

const flagTable = (flags: Flags): string =>
  table(
    ["setting", "type", "default", "what for"],
    Object.entries(flags).map(([name, flag]) => [code(name), valueText(flag), defaultText(flag), cell(flag.help)]),
  );

function valueText(flag: Flag): string {
  switch (flag.type) {
    case "string":
      return flag.choices === undefined ? "text" : flag.choices.map(code).join(", ");
    case "strings":
      return "list, with commas or repeated";
    case "boolean":
      return "`true` or `false`";
    case "integer":
      return `${flag.minimum} to ${flag.maximum}`;
    case "duration":
      return "duration (`90s`, `10m`, `24h`, `30d`)";
    case "file":
      return "file";
  }
}

const defaultText = (flag: Flag): string =>
  "default" in flag && flag.default !== undefined ? code(String(flag.default)) : "";

const optionTable = (options: readonly Option[]): string =>
  table(
    ["flag", "default", "what for"],
    options.map((option) => [code(option.flags), optionDefault(option), cell(optionHelp(option))]),
  );

/** The server's flags tell their default in the text, so that a configuration file can come before it. */
const toldDefault = / \(default: (.*)\)$/s;

const optionHelp = ({ description, argChoices = [], mandatory }: Option): string =>
  [
    description.replace(toldDefault, "").replace(/\.$/, argChoices.length > 0 || mandatory ? "" : "."),
    ...(argChoices.length > 0 ? [`one of ${argChoices.map(code).join(", ")}`] : []),
    ...(mandatory ? ["required"] : []),
  ].join("; ");

function optionDefault({ description, defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined) return cell(defaultValueDescription);
  const value: unknown = defaultValue ?? toldDefault.exec(description)?.[1];
  return typeof value === "string" ? code(value) : "";
}
