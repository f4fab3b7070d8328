import { Command } from "commander";
import { confirm } from "../machinery/command-line/confirm.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import type { Example } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";
import type { EncryptionAction } from "../server/settings/encryption-settings.ts";
import { argumentConfigAction, configAction, withServerSettings } from "./server-settings.ts";
import { dataFlags } from "./storage-commands.ts";

/** The programs of the commands that work with the encrypted objects of a server's store. */
export interface EncryptionPrograms {
  encryption(config: ServerConfig, action: EncryptionAction): Promise<void>;
}

interface CommandHelp {
  readonly description: string;
  readonly example: Example;
}

const command = (name: string, { description, example }: CommandHelp): Command =>
  withExamples(withServerSettings(new Command(name), dataFlags).description(description), example);

/** `signet encryption`: runs on the server's machine, whether the server runs or not. */
export function encryption(run: EncryptionPrograms["encryption"]): Command {
  const actionOf = (action: EncryptionAction) => configAction((config) => run(config, action));
  return new Command("encryption")
    .description("see and renew how a server's objects are encrypted in its store, on the server's machine")
    .addCommand(
      command("status", {
        description: "show with which keys objects are encrypted, which are not, and which can't be read",
        example: [
          "Look at the server of a data directory, while it runs",
          "signet encryption status --data-dir /var/lib/signet",
        ],
      }).action(actionOf({ type: "status" })),
    )
    .addCommand(
      command("rotate", {
        description: "make a new key for Secrets, and write all of them with it; it may be ended and run again",
        example: ["Change the key while the server runs", "signet encryption rotate --data-dir /var/lib/signet"],
      }).action(actionOf({ type: "rotate" })),
    )
    .addCommand(
      command("rewrite", {
        description: "write all objects as the settings say now; it may be ended and run again",
        example: [
          "After a change of the configuration file",
          "signet encryption rewrite --data-dir /var/lib/signet --encryption-provider-config /etc/signet/encryption.yaml",
        ],
      }).action(actionOf({ type: "rewrite" })),
    )
    .addCommand(
      command("retire", {
        description: "take old keys out of the key file, once no object needs them",
        example: ["After a rotation", "signet encryption retire --data-dir /var/lib/signet"],
      }).action(actionOf({ type: "retire" })),
    )
    .addCommand(
      command("discard", {
        description: "permanently delete an object that can't be read",
        example: [
          "Give up a Secret whose key is lost",
          "signet encryption discard /registry/secrets/default/web --data-dir /var/lib/signet",
        ],
      })
        .argument("<key>", "the object's key in the store, as signet encryption status shows it")
        .option("-y, --yes", "do not ask", false)
        .action(
          argumentConfigAction<{ readonly yes: boolean }>(async (config, { argument: key, flags: { yes } }) => {
            if (!yes && !(await confirm(`Permanently delete ${JSON.stringify(key)}?`))) {
              throw new UsageError("nothing was deleted: give --yes to delete it without being asked");
            }
            await run(config, { type: "discard", key });
          }),
        ),
    );
}
