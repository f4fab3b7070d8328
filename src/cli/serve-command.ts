import { Command } from "commander";
import { serveFlags } from "../server/server-config.ts";
import type { ServerConfig } from "../server/server-config.ts";
import { serverConfigOf, withServerSettings } from "./server-settings.ts";

/** `signet serve`: the command's flags are `serveFlags`; `run` is given what they say. */
export const serve = (run: (config: ServerConfig) => Promise<void>): Command =>
  withServerSettings(new Command("serve"), serveFlags)
    .description("run the API server, its store and its controllers in this process")
    .action(async (_flags: unknown, self: Command) => run(serverConfigOf(self, serveFlags)));
