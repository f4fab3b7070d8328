import { Command } from "commander";
import { withConnectionFlags } from "../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags } from "../machinery/command-line/connection/connection.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { flagOption } from "../machinery/command-line/settings/flag-options.ts";
import { parseRemoteControllerConfig, remoteControllerFlags } from "../server/settings/controller-settings.ts";
import type { RemoteControllerConfig } from "../server/settings/controller-settings.ts";
import { givenSettings, settingsReader, namingOrigin } from "./server-settings.ts";
import type { ReadSettings } from "./server-settings.ts";

export interface RemoteControllerOptions {
  readonly connection: ConnectionFlags;
  readonly readSettings: ReadSettings;
}

/** `signet controllers`: the server's loops in a process of their own. */
export function controllers(
  run: (config: RemoteControllerConfig, options: RemoteControllerOptions) => Promise<void>,
): Command {
  const command = withConnectionFlags(new Command("controllers")).description(
    "run the controllers against a server that was started with --controllers=false, or as a standby",
  );
  command.option("--config <file>", "YAML file with the settings below, by the names of their flags");
  for (const [name, flag] of Object.entries(remoteControllerFlags)) command.addOption(flagOption(name, flag));
  command.action(async (connection: ConnectionFlags, self: Command) => {
    const given = givenSettings(self, remoteControllerFlags);
    const config = parseRemoteControllerConfig(given);
    const readSettings = settingsReader(self, { known: remoteControllerFlags, parse: parseRemoteControllerConfig });
    await namingOrigin(given, async () => run(config, { connection, readSettings }));
  });
  return withExamples(command, [
    "Run only the signing controller",
    "signet controllers --kubeconfig controllers.kubeconfig --controllers csrsigning",
  ]);
}
