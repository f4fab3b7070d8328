import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Command } from "commander";
import { examplesOf } from "../../src/machinery/command-line/examples.ts";
import { signetWithoutPrograms, leafCommands } from "../../tools/reference/leaf-commands.ts";

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];

/** The words of each `signet` in a line of shell, without quotes. */
const commandLines = (line: string): string[][] =>
  line
    .split(/&&|\||<\(|\)/)
    .map((part) => part.replace(/<.*/, "").trim())
    .filter((part) => part.startsWith("signet "))
    .map((part) =>
      Array.from(part.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? "").slice(1),
    );

async function parse(words: readonly string[]): Promise<void> {
  const program = signetWithoutPrograms();
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({ outputError: () => {} });
    if (command.commands.length === 0) command.action(() => {});
  }
  await program.parseAsync([...words], { from: "user" });
}

describe("the examples in the help", () => {
  it("exist for every command", () => {
    const without = leafCommands().filter(({ command }) => examplesOf(command).length === 0);
    assert.deepEqual(
      without.map(({ words }) => words),
      [],
    );
  });

  it("use the command that they are for, and only existing flags", async () => {
    for (const { command, words } of leafCommands()) {
      for (const [purpose, line] of examplesOf(command)) {
        assert.ok(line.includes(words), `${words}: ${line}`);
        assert.ok(line.length <= 120, `too long to read: ${line}`);
        for (const given of commandLines(line)) {
          await assert.doesNotReject(parse(given), `${purpose}: ${line}`);
        }
      }
    }
  });
});
