import { Command } from "commander";
import { withExamples } from "../machinery/command-line/examples.ts";
import { parseServerConfig, serveFlags } from "../server/settings/server-config.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";
import { withServerConfig, settingsReader, withServerSettings } from "./server-settings.ts";
import type { ReadSettings } from "./server-settings.ts";

/** `signet serve`. The command's flags are `serveFlags`; `run` gets the parsed settings. */
export const serve = (run: (config: ServerConfig, settings: ReadSettings) => Promise<void>): Command =>
  withExamples(
    withServerSettings(new Command("serve"), serveFlags)
      .description("run the API server, its store and its controllers in this process")
      .action(async (_flags: unknown, self: Command) =>
        withServerConfig(self, async (config) =>
          run(config, settingsReader(self, { known: serveFlags, parse: parseServerConfig })),
        ),
      ),
    ["A server for this machine, in ./.signet", "signet serve"],
    [
      "A server for a network",
      "signet serve --data-dir /var/lib/signet --bind-address 0.0.0.0 --advertise-address signet.example.com",
    ],
    ["The same from a file", "signet serve --config /etc/signet/server.yaml"],
  );
