import { Command } from "commander";
import { parse } from "yaml";
import { UsageError } from "../machinery/command-line/flag.ts";
import { readFollowedFile } from "../machinery/command-line/settings-files.ts";
import { flagOption, givenFlags } from "../machinery/command-line/flag-options.ts";
import { parseServerConfig, serveFlags } from "../server/server-config.ts";
import type { ServerConfig } from "../server/server-config.ts";

/** `signet serve`: the command's flags are `serveFlags`; `run` is given what they say. */
export function serve(run: (config: ServerConfig) => Promise<void>): Command {
  const command = new Command("serve")
    .description("run the API server, its store and its controllers in this process")
    .option("--config <file>", "YAML file with these settings, by the names of the flags; flags come first");
  for (const [name, flag] of Object.entries(serveFlags)) command.addOption(flagOption(name, flag));
  return command.action(async (_flags: unknown, self: Command) => {
    const { config, ...commandLine } = givenFlags(self);
    const file = typeof config === "string" ? readConfig(config) : {};
    await run(parseServerConfig({ commandLine, file }));
  });
}

function readConfig(file: string): Record<string, unknown> {
  const text = readFollowedFile("config", file);
  let parsed: unknown;
  try {
    parsed = parse(text, { maxAliasCount: 0 });
  } catch (cause) {
    throw new UsageError(`--config: ${file} is not YAML`, { cause });
  }
  if (parsed === null || parsed === undefined) return {};
  if (typeof parsed !== "object" || Array.isArray(parsed)) throw new UsageError(`--config: ${file} holds no settings`);
  return parsed as Record<string, unknown>; // a YAML mapping: parseServerConfig checks keys and values
}
