import assert from "node:assert/strict";
import { Command } from "commander";
import { describe, it } from "node:test";
import { arrangeHelp } from "../../src/cli/arrange-help.ts";
import { signetCommand } from "../../src/cli/program.ts";
import { programs } from "../../src/programs.ts";
import { HostedSignet } from "./hosted-signet.ts";

const withSubcommands = (command: Command): Command[] => [command, ...command.commands.flatMap(withSubcommands)];

/** The help without its examples, as it is printed where there is no terminal. */
function helpOf(command: Command): string {
  arrangeHelp(command);
  return command.helpInformation();
}

describe("the help", () => {
  it("of every command fits into 80 columns", () => {
    const wide = withSubcommands(signetCommand(programs)).flatMap((command) =>
      helpOf(command)
        .split("\n")
        .filter((line) => line.length > 80)
        .map((line) => `${command.name()}: ${line}`),
    );
    assert.deepEqual(wide, []);
  });

  it("of no command shows an empty list as a default", () => {
    const lists = withSubcommands(signetCommand(programs)).filter((command) => helpOf(command).includes("[])"));
    assert.deepEqual(
      lists.map((command) => command.name()),
      [],
    );
  });

  it("of a command below another is shown in each way to ask for it", async (context) => {
    const host = new HostedSignet();
    context.after(() => host.stop());
    for (const line of ["csr create --help", "help csr create", "csr help create", "help csr create --help"]) {
      const { code, stdout } = await host.run(line.split(" "));
      assert.equal(code, 0, line);
      assert.match(stdout, /^Usage: signet csr create /, line);
    }
    // These must not run the agent.
    for (const line of ["help agent --once", "agent help"]) {
      assert.match((await host.run(line.split(" "))).stdout, /^Usage: signet agent /, line);
    }
    assert.match((await host.run(["agent", "help", "renew"])).stdout, /^Usage: signet agent renew /);
  });

  it("of every command wraps its descriptions at 40 columns", () => {
    const wide = withSubcommands(signetCommand(programs)).flatMap((command) => {
      command.configureOutput({ getOutHelpWidth: () => 40 });
      return helpOf(command)
        .split("\n")
        .filter((line) => line.length > 40 && /^ {8}\S+ /.test(line))
        .map((line) => `${command.name()}: ${line}`);
    });
    assert.deepEqual(wide, []);
  });

  it("says which flags are required", () => {
    const command = new Command("x").requiredOption("--key-file <file>", "the key").option("--wait", "wait for it");
    assert.match(helpOf(command), /--key-file <file> +the key; required\n +--wait +wait for it\n/);
  });

  it("puts the description of a long flag below the flag", () => {
    const command = new Command("x")
      .option("--short <file>", "a short one")
      .option("--a-very-long-name-of-a-flag-that-is-wide <file>", "what it is for");
    assert.match(
      helpOf(command),
      /\n {2}--short <file> {18}a short one\n {2}--a-very-long-name-of-a-flag-that-is-wide <file>\n {34}what it is for\n/,
    );
  });
});
