import { CommanderError } from "commander";
import type { Command } from "commander";
import { exitCodes, SeveralFailures } from "../machinery/command-line/command-failure.ts";
import { didYouMean } from "../machinery/command-line/did-you-mean.ts";
import { fileFailureReason } from "../machinery/files/unusable-file.ts";
import { arrangeHelp } from "./arrange-help.ts";
import { failureReport } from "./failure-report.ts";
import { UsageError } from "../machinery/command-line/flag.ts";

/**
 * Parses the command line and runs one command. A failure is one line on standard error, and an exit code of
 * `exitCodes`.
 */
export async function runCommandLine(argv: readonly string[], program: Command): Promise<void> {
  program.hook("preAction", (_, command) => refuseEmptyValues(command));
  let commandPath = program.name();
  for (const { command, path } of everyCommand(program)) {
    arrangeHelp(command);
    command.configureOutput({ outputError: () => {} }).exitOverride((error) => {
      commandPath = path;
      throw (
        unknownCommand(error, command) ??
        unknownFlag(error, command) ??
        valueOfSwitch(error, command) ??
        verbFirst(error, program) ??
        error
      );
    });
  }
  reportOutputFailures();
  try {
    await program.parseAsync(askedFor(argv, program));
  } catch (error) {
    for (const failure of error instanceof SeveralFailures ? error.failures : [error]) {
      const { exitCode, message } = failureReport(failure, commandPath);
      process.exitCode = exitCode;
      if (message !== "") console.error(`signet: ${message}`);
    }
  }
}

/** For a command that runs by itself and has others below it, as `signet agent`: commander calls a misspelled one an argument too many. */
function unknownCommand({ code, exitCode }: CommanderError, command: Command): CommanderError | undefined {
  const [name = ""] = command.args;
  if (code !== "commander.excessArguments" || command.commands.length === 0) return undefined;
  const meant = didYouMean(
    name,
    command.commands.map((one) => one.name()),
  );
  return new CommanderError(exitCode, "commander.unknownCommand", `unknown command '${name}'${meant}`);
}

/** For a misspelled required flag: commander calls it missing. */
function unknownFlag({ code, exitCode }: CommanderError, command: Command): CommanderError | undefined {
  const given = command.args.find((one) => /^--?[a-z]/i.test(one));
  if (code !== "commander.missingMandatoryOptionValue" || given === undefined) return undefined;
  const [flag = ""] = given.split("=");
  const meant = didYouMean(
    flag,
    command.options.map(({ long }) => long ?? ""),
  );
  return new CommanderError(exitCode, "commander.unknownOption", `unknown option '${flag}'${meant}`);
}

/** For `--yes=true`: commander calls it unknown where it knows `--yes`. */
function valueOfSwitch({ code, exitCode, message }: CommanderError, command: Command): CommanderError | undefined {
  const [, flag] = /^error: unknown option '(--[^=']+)=/.exec(message) ?? [];
  if (flag === undefined || command.options.every(({ long }) => long !== flag)) return undefined;
  return new CommanderError(exitCode, code, `option '${flag}' takes no value`);
}

/** A longer list would be no help. */
const mostMeant = 3;

/** For kubectl's order of words, as in `get csr`, and for a verb alone, as in `approve`: here the verb comes after the noun. */
function verbFirst({ code, exitCode }: CommanderError, program: Command): CommanderError | undefined {
  const [verb, noun] = program.args;
  const groups = program.commands.filter(({ commands }) => commands.some((command) => command.name() === verb));
  const named = groups.filter((group) => group.name() === noun);
  const meant = (named.length > 0 ? named : groups).map((group) => `signet ${group.name()} ${verb}`);
  if (code !== "commander.unknownCommand" || meant.length === 0 || meant.length > mostMeant) return undefined;
  return new CommanderError(exitCode, code, `unknown command '${verb}' (did you mean ${meant.join(" or ")}?)`);
}

/**
 * The command line. `help csr create` asks for the help of that command, where commander would show the help of `csr`. For the help
 * of an unknown command it is that command, which is refused.
 */
function askedFor(argv: readonly string[], program: Command): string[] {
  const [runtime = "", file = "", first, ...more] = argv;
  const names = more.filter((one) => !one.startsWith("-"));
  if (first !== "help" || names.length === 0) return [...argv];
  const path: string[] = [];
  let command = program;
  for (const name of names) {
    const next = command.commands.find((one) => [one.name(), ...one.aliases()].includes(name));
    if (next === undefined) return [runtime, file, ...path, command.commands.length > 0 ? name : "--help"];
    path.push(name);
    command = next;
  }
  return [runtime, file, ...path, "--help"];
}

interface NamedCommand {
  readonly command: Command;
  /** `signet csr create`. */
  readonly path: string;
}

const everyCommand = (command: Command, parents = ""): NamedCommand[] => {
  const path = `${parents} ${command.name()}`.trim();
  return [{ command, path }, ...command.commands.flatMap((child) => everyCommand(child, path))];
};

/** Listens for failed writes of output: otherwise a closed pipe or a full disk would end the process with a stack trace. */
function reportOutputFailures(): void {
  let isReported = false;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // Each of several writes fails.
    if (isReported) return;
    isReported = true;
    if (error.code === "EPIPE") {
      // As `head` and `less` do when they have seen enough.
      process.exitCode = exitCodes.readerGone.code;
      return;
    }
    process.exitCode = exitCodes.unwritable.code;
    console.error(`signet: cannot write to standard output: ${fileFailureReason(error)}`);
  });
  process.stderr.on("error", () => {});
}

/**
 * Refuses empty arguments and flags: they come from shell variables that are not set. An empty name would be read as the
 * list of all objects, an empty token as no credentials, and an empty address as all that the machine has.
 */
function refuseEmptyValues(command: Command): void {
  if (command.args.includes("")) throw empty("an argument");
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value === "" || (Array.isArray(value) && value.includes(""))) throw empty(option.long ?? "a flag");
  }
}

const empty = (what: string): UsageError =>
  new UsageError(`${what} is empty; give a value (is a shell variable not set?)`);
