import { Option } from "commander";
import type { Command } from "commander";
import { Document, Scalar, visit } from "yaml";
import { escapedInJson } from "../../api/json/escaped-in-json.ts";
import type { ApiList, ApiObject } from "../../api/object-meta.ts";
import type { ResourceType } from "../../api/resource-type.ts";
import { escapedInYaml, printable, hasUnprintable } from "./printable.ts";
import { terminalWidth, textTable } from "./text-table.ts";
import type { TextColumn } from "./text-table.ts";

export interface OutputFlags {
  /** The format of `-o`. Absent: text for people. */
  readonly output?: "json" | "yaml" | "wide" | "name";
}

/** The flag of commands that show objects. */
export const withOutputFlag = (command: Command): Command =>
  command.addOption(
    new Option("-o, --output <format>", "the format of the output; default: text and tables")
      .choices(["json", "yaml", "wide", "name"])
      .helpGroup("Output flags:"),
  );

/** The flag of commands whose output is an answer without a name. */
export const withAnswerOutputFlag = (command: Command): Command =>
  command.addOption(
    new Option("-o, --output <format>", "the format of the output; default: text and tables")
      .choices(["json", "yaml"])
      .helpGroup("Output flags:"),
  );

interface Presentation {
  readonly flags: OutputFlags;
  /** For people. It ends without a newline. */
  readonly text: () => string;
  /** For `-o name`, a line each. */
  readonly names?: readonly string[];
}

/** Prints a value for people or for scripts. */
export function print(value: unknown, { flags: { output }, text, names = [] }: Presentation): void {
  if (output === "json") writeOutput(jsonOf(value));
  else if (output === "yaml") writeOutput(yamlOf(value));
  else if (output === "name") writeOutput(names.map((name) => `${printable(name)}\n`).join(""));
  else writeOutput(`${text()}\n`);
}

/** Prints one object: its text for people, or the format of the flag. */
export const printObject = (
  object: ApiObject,
  { flags, type, text }: { readonly flags: OutputFlags; readonly type: ResourceType; readonly text: () => string },
): void => print(object, { flags, text, names: [objectName(type, object.metadata.name)] });

interface Listing<T extends ApiObject> {
  readonly flags: OutputFlags;
  readonly type: ResourceType;
  readonly columns: readonly TextColumn<T>[];
}

/** Prints a list as a table, or in the format of the flag. For an empty table, it prints a line on standard error, as kubectl does. */
export function printList<T extends ApiObject>(list: ApiList<T>, { flags, type, columns }: Listing<T>): void {
  const names = list.items.map(({ metadata }) => objectName(type, metadata.name));
  const isForPeople = flags.output === undefined || flags.output === "wide";
  if (list.items.length === 0 && isForPeople) console.error(`No ${type.plural} found.`);
  else print(list, { flags, text: () => textTableOf(list.items, { columns, flags }), names });
}

/** The items as a table: all columns and nothing cut with `-o wide`, else as wide as the terminal. */
export function textTableOf<T>(
  items: readonly T[],
  { columns, flags }: { readonly columns: readonly TextColumn<T>[]; readonly flags: OutputFlags },
): string {
  const isWide = flags.output === "wide";
  const shown = columns.filter((column) => isWide || column.isWide !== true);
  return textTable(
    items.map((item) => shown.map(({ cell }) => cell(item))),
    { header: shown.map(({ header }) => header), width: isWide ? undefined : terminalWidth() },
  );
}

/** An object as kubectl names it: `certificatesigningrequest.certificates.k8s.io/NAME`. */
export const objectName = ({ kind, group }: ResourceType, name = ""): string =>
  `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}/${name}`;

/** Writes to standard output. The code that runs the command line reports a failure to write. */
export function writeOutput(text: string): void {
  process.stdout.write(text);
}

const jsonOf = (value: unknown): string => `${escapedInJson(JSON.stringify(value, null, 2))}\n`;

/**
 * Quotes and escapes strings with characters that would steer a terminal, and strings that older readers of YAML take for times or truth
 * values.
 */
function yamlOf(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "string" && hasUnprintable(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return escapedInYaml(document.toString({ lineWidth: 0 }));
}
