import { CommanderError } from "commander";
import type { Command } from "commander";
import { exitCodes, SeveralFailures } from "../machinery/command-line/command-failure.ts";
import { didYouMean } from "../machinery/command-line/did-you-mean.ts";
import { fileFailureReason } from "../machinery/files/unusable-file.ts";
import { arrangeHelp } from "./arrange-help.ts";
import { failureReport } from "./failure-report.ts";
import { UsageError } from "../machinery/command-line/settings/flag.ts";

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
        correctedWordOrder(error, program) ??
        error
      );
    });
  }
  reportOutputFailures();
  try {
    await program.parseAsync(commandLineToParse(argv, program));
  } catch (error) {
    for (const failure of error instanceof SeveralFailures ? error.failures : [error]) {
      const { exitCode, message } = failureReport(failure, commandPath);
      process.exitCode = exitCode;
      if (message !== "") console.error(`signet: ${message}`);
    }
  }
}

/**
 * Corrects commander's error for a misspelled subcommand of a command with an action of its own, such as `signet agent`: commander reports
 * an excess argument.
 */
function unknownCommand({ code, exitCode }: CommanderError, command: Command): CommanderError | undefined {
  const [name = ""] = command.args;
  if (code !== "commander.excessArguments" || command.commands.length === 0) return undefined;
  const meant = didYouMean(
    name,
    command.commands.map((one) => one.name()),
  );
  return new CommanderError(exitCode, "commander.unknownCommand", `unknown command '${name}'${meant}`);
}

/** Corrects commander's error for a misspelled required flag: commander reports that the flag is missing. */
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

/** Corrects commander's error for `--yes=true`: commander reports an unknown option although `--yes` is known. */
function valueOfSwitch({ code, exitCode, message }: CommanderError, command: Command): CommanderError | undefined {
  const [, flag] = /^error: unknown option '(--[^=']+)=/.exec(message) ?? [];
  if (flag === undefined || command.options.every(({ long }) => long !== flag)) return undefined;
  return new CommanderError(exitCode, code, `option '${flag}' takes no value`);
}

/** A longer list of suggestions would not help. */
const maximumSuggestions = 3;

/** Corrects kubectl's order of words, as in `get csr`, and a verb alone, as in `approve`: here the verb follows the noun. */
function correctedWordOrder({ code, exitCode }: CommanderError, program: Command): CommanderError | undefined {
  const [verb, noun] = program.args;
  const groups = program.commands.filter(({ commands }) => commands.some((command) => command.name() === verb));
  const named = groups.filter((group) => group.name() === noun);
  const meant = (named.length > 0 ? named : groups).map((group) => `signet ${group.name()} ${verb}`);
  if (code !== "commander.unknownCommand" || meant.length === 0 || meant.length > maximumSuggestions) return undefined;
  return new CommanderError(exitCode, code, `unknown command '${verb}' (did you mean ${meant.join(" or ")}?)`);
}

/**
 * The command line to parse. `help csr create` becomes `csr create --help`, because commander would show the help of `csr`. For the help of
 * an unknown command, it is that command itself, so that commander refuses it.
 */
function commandLineToParse(argv: readonly string[], program: Command): string[] {
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
    // Several writes may fail, each with an error.
    if (isReported) return;
    isReported = true;
    if (error.code === "EPIPE") {
      // A reader such as `head` or `less` has closed the pipe because it has read enough.
      process.exitCode = exitCodes.readerGone.code;
      return;
    }
    process.exitCode = exitCodes.unwritable.code;
    console.error(`signet: cannot write to standard output: ${fileFailureReason(error)}`);
  });
  process.stderr.on("error", () => {});
}

/**
 * Refuses empty arguments and flags, which come from unset shell variables. Otherwise an empty name would mean the list of all objects, an
 * empty token no credentials, and an empty address all addresses of the machine.
 */
function refuseEmptyValues(command: Command): void {
  if (command.args.includes("")) throw empty("an argument");
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value === "" || (Array.isArray(value) && value.includes(""))) throw empty(option.long ?? "a flag");
  }
  if (command.parent !== null) refuseEmptyValues(command.parent); // signet agent once takes the flags of signet agent
}

const empty = (what: string): UsageError =>
  new UsageError(`${what} is empty; give a value (is a shell variable not set?)`);
