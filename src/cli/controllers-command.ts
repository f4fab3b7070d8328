import { Command } from "commander";
import { withConnectionFlags } from "../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../machinery/command-line/connection.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { flagOption, givenFlags } from "../machinery/command-line/flag-options.ts";
import { parseRemoteControllerConfig, remoteControllerFlags } from "../server/controller-settings.ts";
import type { RemoteControllerConfig } from "../server/controller-settings.ts";

/** `signet controllers`: the server's loops in a process of their own. */
export function controllers(
  run: (config: RemoteControllerConfig, connection: ConnectionFlags) => Promise<void>,
): Command {
  const command = withConnectionFlags(new Command("controllers")).description(
    "run the controllers against a server that was started with --controllers=false, or as a stand-by",
  );
  for (const [name, flag] of Object.entries(remoteControllerFlags)) command.addOption(flagOption(name, flag));
  command.action(async (connection: ConnectionFlags, self: Command) => {
    const given = givenFlags(self);
    const settings = Object.entries(given).filter(([name]) => Object.hasOwn(remoteControllerFlags, name));
    await run(parseRemoteControllerConfig({ commandLine: Object.fromEntries(settings), file: {} }), connection);
  });
  return withExamples(command, [
    "Run only the signing controller",
    "signet controllers --kubeconfig controllers.kubeconfig --controllers csrsigning",
  ]);
}
