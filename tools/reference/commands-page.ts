/** The reference of the commands, made of the program: flags, examples and exit codes. */
import { Command } from "commander";
import type { Option } from "commander";
import { withConnectionFlags } from "../../src/machinery/command-line/connection/connection.ts";
import { serveFlags } from "../../src/server/settings/server-config.ts";
import { withServerSettings } from "../../src/cli/server-settings.ts";
import { examplesOf } from "../../src/machinery/command-line/examples.ts";
import { exitCodes } from "../../src/machinery/command-line/command-failure.ts";
import { withOutputFlag } from "../../src/machinery/command-line/output/output.ts";
import { argumentText, leafCommands } from "./leaf-commands.ts";
import type { LeafCommand } from "./leaf-commands.ts";
import { cell, code, page, table } from "./markdown.ts";

const notice = "<!-- Written by `npm run docs:settings` from the commands. Do not edit. -->";

/** `docs/reference/commands.md`. */
export function commandsPage(): string {
  const leaves = leafCommands();
  return page(
    "# Commands",
    notice,
    "`signet COMMAND --help` shows the same text. A failure is one line on standard error that says what to do next.",
    table(
      ["command", "what it does"],
      leaves.map(({ command, words }) => [`[${words}](#${words.replaceAll(" ", "-")})`, cell(command.description())]),
    ),
    "## Exit codes",
    "Scripts may rely on these numbers.",
    table(
      ["code", "meaning"],
      Object.values(exitCodes).map(({ code: number, meaning }) => [String(number), cell(meaning)]),
    ),
    "## Connection flags",
    "Every command that talks to a server takes these. Without them it talks to the server of the kubeconfig, as kubectl " +
      "does; the files of `$KUBECONFIG` are merged. No command waits longer than `--timeout` for an answer.",
    optionTable(connectionOptions),
    "## Output",
    "Every command that shows objects takes `-o json`, `-o yaml`, `-o wide` (all columns, and nothing cut) and `-o name` " +
      "(`KIND.GROUP/NAME`, a line each; commands take such names too, also kubectl's, but not those of `signet ca list`, which are fingerprints: two CAs have one name while one replaces the other). Commands that print an answer which has no name take `-o json` and `-o yaml`. On a " +
      "terminal, a table is cut to its width, except for its first column; elsewhere nothing is cut. Control characters and " +
      "invisible ones are shown escaped, so that no name can hide or fake output.",
    ...leaves.map(commandSection),
  );
}

const connectionOptions = withConnectionFlags(new Command()).options;
/** `signet agent` has a flag of its own with the same name as one of these flags. */
const isOfConnection = ({ flags, description }: Option): boolean =>
  connectionOptions.some((option) => option.flags === flags && option.description === description);
const [outputOption] = withOutputFlag(new Command()).options;
const isOutput = ({ flags }: Option): boolean => flags === outputOption?.flags;
const [settingsFile, ...serverSettings] = withServerSettings(new Command(), serveFlags).options;
/** `signet agent` has flags of its own with the names of some of these. */
const isSetting = ({ flags, description }: Option): boolean =>
  serverSettings.some((option) => option.flags === flags && option.description === description);

/** Settings of the server are explained once, on their page. */
function settingsText(settings: readonly Option[]): string {
  if (settings.length === 0) return "";
  const which =
    settings.length === serverSettings.length
      ? "the [settings of the server](settings.md)"
      : `these [settings of the server](settings.md): ${settings.map(({ long }) => code(long ?? "")).join(", ")}`;
  return `It takes ${code(settingsFile?.flags ?? "")} and ${which}.`;
}

function commandSection({ command, words }: LeafCommand): string {
  const usage = [words, ...command.registeredArguments.map(argumentText)].join(" ");
  const explained = command.registeredArguments.filter(({ description }) => description !== "");
  const settings = command.options.filter(isSetting);
  const isElsewhere = (option: Option): boolean =>
    isOfConnection(option) ||
    isOutput(option) ||
    (settings.length > 0 && (isSetting(option) || option.flags === settingsFile?.flags));
  const own = command.options.filter((option) => !isElsewhere(option));
  const isConnected = command.options.some(isOfConnection);
  const output = command.options.find(isOutput);
  return page(
    `## ${words}`,
    `${sentence(command.description())} Usage: ${code(`${usage} [flags]`)}.`,
    explained.map((one) => `- ${code(argumentText(one))}: ${cell(one.description)}`).join("\n"),
    settingsText(settings),
    own.length === 0 ? "" : optionTable(own),
    [
      ...(output === undefined ? [] : [`${code("-o")} [formats](#output): ${(output.argChoices ?? []).join(", ")}.`]),
      ...(isConnected ? ["Also the [connection flags](#connection-flags)."] : []),
    ].join(" "),
    `\`\`\`sh\n${examplesOf(command)
      .map(([purpose, line]) => `# ${purpose}\n${line}`)
      .join("\n\n")}\n\`\`\``,
  ).trimEnd();
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${cell(text.slice(1))}.`;

const optionTable = (options: readonly Option[]): string =>
  table(
    ["flag", "default", "what for"],
    options.map((option) => [code(option.flags), optionDefault(option), cell(optionHelp(option))]),
  );

/** Flags whose default the parser does not set state it in their description. */
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
