import { Command } from "commander";
import { confirm } from "../machinery/command-line/confirm.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { serveFlags } from "../server/server-config.ts";
import type { ServerConfig } from "../server/server-config.ts";
import type { EncryptionAction } from "../server/encryption-settings.ts";
import { serverConfigOf, withServerSettings } from "./server-settings.ts";
import { argumentAction } from "../machinery/command-line/argument-action.ts";

/** What the commands do with the encrypted objects of a server's store. */
export interface EncryptionPrograms {
  encryption(config: ServerConfig, action: EncryptionAction): Promise<void>;
}

const settings = Object.fromEntries(
  Object.entries(serveFlags).filter(([name]) => /^(?:data-dir|profile|etcd-.*|encryption-.*)$/.test(name)),
);

const command = (name: string, description: string): Command =>
  withServerSettings(new Command(name), settings).description(description);

/** `signet encryption`: on the server's machine, while the server runs or not. */
export const encryption = (programs: EncryptionPrograms): Command =>
  new Command("encryption")
    .description("see and renew how a server's objects are encrypted in its store, on the server's machine")
    .addCommand(
      withExamples(
        command(
          "status",
          "show with which keys objects are encrypted, which are not, and which can't be decrypted",
        ).action(async (_flags: unknown, self: Command) =>
          programs.encryption(serverConfigOf(self, settings), { type: "status" }),
        ),
        [
          "Look at the server of a data directory, while it runs",
          "signet encryption status --data-dir /var/lib/signet",
        ],
      ),
    )
    .addCommand(
      withExamples(
        command(
          "rotate",
          "make a new key for Secrets, and write all of them with it; it may be ended and run again",
        ).action(async (_flags: unknown, self: Command) =>
          programs.encryption(serverConfigOf(self, settings), { type: "rotate" }),
        ),
        ["Change the key while the server runs", "signet encryption rotate --data-dir /var/lib/signet"],
      ),
    )
    .addCommand(
      withExamples(
        command("rewrite", "write all objects as the settings say now; it may be ended and run again").action(
          async (_flags: unknown, self: Command) =>
            programs.encryption(serverConfigOf(self, settings), { type: "rewrite" }),
        ),
        [
          "After a change of the configuration file",
          "signet encryption rewrite --data-dir /var/lib/signet --encryption-provider-config /etc/signet/encryption.yaml",
        ],
      ),
    )
    .addCommand(
      withExamples(
        command("retire", "take old keys out of the key file, once no object needs them").action(
          async (_flags: unknown, self: Command) =>
            programs.encryption(serverConfigOf(self, settings), { type: "retire" }),
        ),
        ["After a rotation", "signet encryption retire --data-dir /var/lib/signet"],
      ),
    )
    .addCommand(
      withExamples(
        command("discard", "delete an object that can't be decrypted, for good")
          .argument("<key>", "the object's key in the store, as signet encryption status shows it")
          .option("-y, --yes", "do not ask", false)
          .action(
            argumentAction<string, { readonly yes: boolean }>(async (key, { flags: { yes }, self }) => {
              const config = serverConfigOf(self, settings);
              if (!yes && !(await confirm(`Delete ${JSON.stringify(key)} for good?`))) {
                throw new UsageError("nothing was deleted: give --yes to delete it without being asked");
              }
              await programs.encryption(config, { type: "discard", key });
            }),
          ),
        [
          "Give up a Secret whose key is lost",
          "signet encryption discard /registry/secrets/default/web --data-dir /var/lib/signet",
        ],
      ),
    );
