import type { Command } from "commander";
import {
  environmentFlags,
  resolveFlags,
  withOrigin,
  UsageError,
  warnOfMisspelledVariables,
} from "../machinery/command-line/settings/flag.ts";
import type { Flags, GivenFlags } from "../machinery/command-line/settings/flag.ts";
import { argumentAction } from "../machinery/command-line/argument-action.ts";
import { flagOption, givenFlags } from "../machinery/command-line/settings/flag-options.ts";
import { parseYamlSettings } from "../machinery/command-line/settings/parse-yaml-settings.ts";
import { parseSettingsFile, readFollowedFile } from "../machinery/command-line/settings/settings-files.ts";
import { parseServerConfig, serveFlagGroups, serveFlags } from "../server/settings/server-config.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";

/** Adds settings of `signet serve` to a command, and the flag `--config` for the file with all of them. */
export function withServerSettings(command: Command, flags: Flags): Command {
  command.option("--config <file>", "YAML file with the settings of signet serve, by the names of its flags");
  for (const [name, flag] of Object.entries(flags)) {
    const option = flagOption(name, flag);
    const heading = headingOf(name);
    command.addOption(heading === undefined ? option : option.helpGroup(heading));
  }
  return command;
}

const headingOf = (name: string): string | undefined =>
  Object.entries(serveFlagGroups).find(([, flags]) => Object.hasOwn(flags, name))?.[0];

/**
 * Runs a command with its settings: flags take precedence over environment variables, and these over the file. Rejects with UsageError for
 * wrong settings, as `namingOrigin` does, also when `run` finds the fault.
 */
export async function withServerConfig(command: Command, run: (config: ServerConfig) => Promise<void>): Promise<void> {
  const given = givenSettings(command, serveFlags);
  const config = parseServerConfig(given);
  await namingOrigin(given, () => run(config));
}

/** The action of a command that works with the server's settings. */
export const configAction =
  <Flags>(act: (config: ServerConfig, flags: Flags) => Promise<void>) =>
  (flags: Flags, self: Command): Promise<void> =>
    withServerConfig(self, (config) => act(config, flags));

/** The same for a command with one argument. */
export const argumentConfigAction = <Flags = unknown>(
  act: (config: ServerConfig, given: { readonly argument: string; readonly flags: Flags }) => Promise<void>,
) =>
  argumentAction<string, Flags>((argument, { flags, self }) =>
    withServerConfig(self, (config) => act(config, { argument, flags })),
  );

/** Runs code that may find faults of given settings late, such as faults in files. Rejects with the error of `withOrigin`. */
export async function namingOrigin(given: GivenFlags, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    throw withOrigin(error, given);
  }
}

/** Reads a command's settings again, by the names of the flags. Throws UsageError when they cannot be used. */
export type ReadSettings = () => Readonly<Record<string, unknown>>;

interface ReadAgain {
  readonly known: Flags;
  /** Throws for settings with which the server would not start. */
  readonly parse: (given: GivenFlags) => unknown;
}

export const settingsReader =
  (command: Command, { known, parse }: ReadAgain): ReadSettings =>
  () => {
    const given = givenSettings(command, known);
    parse(given);
    return resolveFlags(known, given);
  };

/**
 * The settings from the command line, the environment and the file of `--config`. A command with only some of them as flags takes the
 * others from the environment and the file. Throws UsageError for a file that cannot be used.
 */
export function givenSettings(command: Command, known: Flags): GivenFlags {
  warnOfMisspelledVariables([...Object.keys(known), "config"], process.env);
  const { config: named, ...given } = givenFlags(command);
  const commandLine = Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(known, name)));
  return {
    commandLine,
    environment: environmentFlags(Object.keys(known), process.env),
    ...configurationFile({
      commandLine: { config: named },
      environment: environmentFlags(["config"], process.env),
      file: {},
    }),
  };
}

function configurationFile(given: GivenFlags): Pick<GivenFlags, "file" | "fileName"> {
  const name = given.commandLine["config"] ?? given.environment?.["config"];
  if (typeof name !== "string") return { file: {} };
  try {
    return { file: readConfig(name), fileName: name };
  } catch (error) {
    throw withOrigin(error, given);
  }
}

function readConfig(file: string): Record<string, unknown> {
  const parsed = parseSettingsFile({ flag: "config", file, read: readFollowedFile }, parseYamlSettings);
  if (parsed === null || parsed === undefined) return {};
  if (typeof parsed !== "object" || Array.isArray(parsed)) {
    throw new UsageError(`--config: ${file} holds no settings; write lines such as secure-port: 6443`);
  }
  return parsed as Record<string, unknown>; // a YAML mapping: parseServerConfig checks keys and values
}
