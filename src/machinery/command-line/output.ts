import { Option } from "commander";
import type { Command } from "commander";
import { stringify } from "yaml";

export type OutputFormat = "text" | "json" | "yaml";

export const withOutputFlag = (command: Command): Command =>
  command.addOption(
    new Option("-o, --output <format>", "the format").choices(["text", "json", "yaml"]).default("text"),
  );

/** Prints a value for people (`text`) or for scripts. */
export function print(value: unknown, format: OutputFormat, text: () => string): void {
  if (format === "json") console.log(JSON.stringify(value, null, 2));
  else if (format === "yaml") process.stdout.write(stringify(value));
  else console.log(text());
}

/** Formats rows as columns under a header, like kubectl. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}
