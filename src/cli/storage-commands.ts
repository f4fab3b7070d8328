import { Command, Option } from "commander";
import { withExamples } from "../machinery/command-line/examples.ts";
import { checkOutputFile } from "../machinery/command-line/output/output-file.ts";
import { serveFlags } from "../server/settings/server-config.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";
import { argumentConfigAction, configAction, withServerConfig, withServerSettings } from "./server-settings.ts";
import { argumentAction } from "../machinery/command-line/argument-action.ts";

type StorageKind = "lmdb" | "etcd";

/** The programs of the commands that work on a server's data without the server. */
export interface StoragePrograms {
  backUp(config: ServerConfig, options: { readonly file: string; readonly withKeys: boolean }): Promise<void>;
  restore(config: ServerConfig, options: { readonly file: string; readonly isDryRun: boolean }): Promise<void>;
  migrateStorage(
    config: ServerConfig,
    options: { readonly from: StorageKind; readonly to: StorageKind },
  ): Promise<void>;
}

/** The settings that say where a server's data is. */
export const dataFlags = Object.fromEntries(
  Object.entries(serveFlags).filter(([name]) => /^(?:data-dir|profile|etcd-.*|encryption-.*)$/.test(name)),
);

/** `signet backup`: writes one file from a server, whether it runs or not. */
export const backup = (run: StoragePrograms["backUp"]): Command =>
  withExamples(
    withServerSettings(new Command("backup"), dataFlags)
      .description(
        "write everything that a server keeps into one file, while it runs or not; give it the server's settings",
      )
      .argument("<file>", "the backup to write (0600); an older one is replaced when the new one is complete")
      .option(
        "--without-keys",
        "leave out the private keys of CAs, tokens and Secrets; Secrets are objects, and stay in as they are stored",
        false,
      )
      .action(
        argumentAction<string, { readonly withoutKeys: boolean }>(async (file, { flags, self }) => {
          checkOutputFile({ namedBy: "FILE", file });
          await withServerConfig(self, async (config) => run(config, { file, withKeys: !flags.withoutKeys }));
        }),
      ),
    ["Back up the server of a data directory, while it runs", "signet backup --data-dir /var/lib/signet signet.backup"],
  );

/** `signet restore`: makes a new data directory from a backup. */
export const restore = (run: StoragePrograms["restore"]): Command =>
  withExamples(
    withServerSettings(new Command("restore"), dataFlags)
      .description("make a new data directory, and a new prefix in etcd with --etcd-servers, from a backup")
      .argument("<file>", "the backup")
      .option("--dry-run", "only read the backup and check that it is complete", false)
      .action(
        argumentConfigAction<{ readonly dryRun: boolean }>((config, { argument: file, flags }) =>
          run(config, { file, isDryRun: flags.dryRun }),
        ),
      ),
    ["Check a backup", "signet restore --dry-run signet.backup"],
    ["Make a data directory from it", "signet restore --data-dir /var/lib/signet signet.backup"],
  );

const kind = (flag: string, description: string): Option =>
  new Option(`--${flag} <kind>`, description).choices(["lmdb", "etcd"]).makeOptionMandatory();

/** `signet storage`: moves the objects of stopped servers. */
export const storage = (run: StoragePrograms["migrateStorage"]): Command =>
  new Command("storage")
    .description("move objects between a data directory's own store and etcd")
    .addCommand(
      withExamples(
        withServerSettings(new Command("migrate"), dataFlags)
          .description("move all objects, while all servers are stopped; the old store is kept and not used any more")
          .addOption(kind("from", "where the objects are: lmdb is the data directory's own store"))
          .addOption(kind("to", "where they go"))
          .action(configAction(run)),
        [
          "From a data directory to etcd",
          "signet storage migrate --from lmdb --to etcd --etcd-servers https://etcd:2379",
        ],
      ),
    );
