/** The manual: a page for `signet`, and one for each command, from what the commands say about themselves. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command, Option } from "commander";
import { exitCodes } from "../../src/machinery/command-line/command-failure.ts";
import { signetVersion } from "../../src/server/signet-version.ts";
import { argumentText, signetWithoutPrograms, leafCommands } from "../reference/leaf-commands.ts";
import type { LeafCommand } from "../reference/leaf-commands.ts";

/** Writes `signet.1`, `signet-serve.1`, `signet-csr-create.1` and so on into a new folder. */
export function writeManPages(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of manPages(signetWithoutPrograms())) writeFileSync(join(folder, file), text);
}

/** The text of each page of a program by its file. */
export function manPages(program: Command): Map<string, string> {
  const leaves = leafCommands(program);
  const own = leaves.find(({ command }) => command === program);
  const others = leaves.filter((leaf) => leaf !== own);
  return new Map([
    [`${program.name()}.1`, own === undefined ? overview(program, others) : commandPage(own, others)],
    ...others.map((leaf) => [`${pageName(leaf.words)}.1`, commandPage(leaf)] as const),
  ]);
}

const pageName = (words: string): string => words.replaceAll(" ", "-");

const overview = (program: Command, leaves: readonly LeafCommand[]): string =>
  lines(
    title(program.name()),
    ".SH NAME",
    `${escaped(program.name())} \\- ${escaped(asClause(program.description()))}`,
    ".SH SYNOPSIS",
    `.B ${escaped(program.name())}`,
    "\\fIcommand\\fR [\\fIflags\\fR]",
    ...commandList(leaves),
    ...exitStatus(),
  );

const commandList = (leaves: readonly LeafCommand[]): string[] => [
  ...(leaves.length === 0 ? [] : [".SH COMMANDS"]),
  ...leaves.flatMap(({ words, command }) => [
    ".TP",
    `\\fB${escaped(pageName(words))}\\fR(1)`,
    escaped(asSentence(command.description())),
  ]),
];

const commandPage = ({ words, command }: LeafCommand, children: readonly LeafCommand[] = []): string =>
  lines(
    title(pageName(words)),
    ".SH NAME",
    `${escaped(pageName(words))} \\- ${escaped(asClause(command.description()))}`,
    ".SH SYNOPSIS",
    `.B ${escaped(words)}`,
    ["[\\fIflags\\fR]", ...command.registeredArguments.map((one) => `\\fI${escaped(argumentText(one))}\\fR`)].join(" "),
    ...commandList(children),
    ...(command.registeredArguments.length === 0 ? [] : [".SH ARGUMENTS"]),
    ...command.registeredArguments.flatMap((argument) => [
      ".TP",
      `\\fI${escaped(argumentText(argument))}\\fR`,
      escaped(asSentence(argument.description)),
    ]),
    ...(command.options.length === 0 ? [] : [".SH FLAGS"]),
    ...command.options.flatMap(flag),
    ...exitStatus(),
    ...(words.includes(" ") ? [".SH SEE ALSO", `\\fB${escaped(words.split(" ", 1)[0] ?? "")}\\fR(1)`] : []),
  );

const flag = (option: Option): string[] => [
  ".TP",
  `\\fB${escaped(option.flags)}\\fR`,
  `${option.mandatory ? "Required. " : ""}${escaped(asSentence(option.description))}`,
  ...(option.argChoices === undefined ? [] : [`One of ${escaped(option.argChoices.join(", "))}.`]),
  ...(typeof option.defaultValue === "string" || option.defaultValueDescription !== undefined
    ? [`Default: ${escaped(option.defaultValueDescription ?? String(option.defaultValue))}.`]
    : []),
];

/** The date is left out: the same commit makes the same bytes. */
const title = (name: string): string => `.TH ${name.toUpperCase()} 1 "" "signet ${signetVersion}" "Signet"`;

const exitStatus = (): string[] => [
  ".SH EXIT STATUS",
  ...Object.values(exitCodes).flatMap(({ code, meaning }) => [".TP", `\\fB${code}\\fR`, escaped(meaning)]),
];

const lines = (...parts: readonly string[]): string => `${parts.join("\n")}\n`;

const asSentence = (text: string): string =>
  text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/(?<![.)])$/, ".");
const asClause = (text: string): string => text.replace(/\.$/, "");

/** Text that troff prints as it is: one line, no escapes, no requests, and hyphens that can be searched and copied. */
const escaped = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^(?=[.'])/, "\\&");
