import { Command, InvalidArgumentError, Option } from "commander";
import { confirm } from "../machinery/command-line/confirm.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import { durationOption } from "../machinery/command-line/options.ts";
import { nameWithoutKind } from "../machinery/command-line/name-without-kind.ts";
import { withOutputFlag } from "../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../machinery/command-line/output/output.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";
import { argumentConfigAction, configAction, withServerConfig, withServerSettings } from "./server-settings.ts";
import { dataFlags } from "./storage-commands.ts";

/** The programs of the commands that change the token keys in a server's store. */
export interface TokenKeyPrograms {
  list(config: ServerConfig, flags: OutputFlags): Promise<void>;
  rotate(
    config: ServerConfig,
    options: { readonly algorithm: KeyAlgorithm | undefined; readonly publishMilliseconds: number },
  ): Promise<void>;
  retire(config: ServerConfig, options: { readonly kid: string; readonly isForced: boolean }): Promise<void>;
  /** Calls `confirm` before it writes anything. */
  reseal(config: ServerConfig, confirm: () => Promise<void>): Promise<void>;
}

const algorithms = ["ES256", "ES384", "RS256", "EdDSA"] as const;
type KeyAlgorithm = (typeof algorithms)[number];

/** Relying parties may cache the key set for an hour (`cache-control` of the key set); ten minutes are added to be safe. */
const defaultPublishMilliseconds = 70 * 60_000;
/** All workers and replicas have the key after this time. */
const shortestPublishMilliseconds = 10_000;
/** Nobody keeps keys so long. A longer time is a typing error, and the key would never sign. */
const longestPublishMilliseconds = 90 * 24 * 3_600_000;

/** `signet keys list|rotate|retire|reseal`: the keys that sign service account tokens. */
export const keys = (programs: TokenKeyPrograms): Command =>
  new Command("keys")
    .description("show and replace the keys that sign service account tokens, while the server runs or not")
    .addCommand(list(programs))
    .addCommand(rotate(programs))
    .addCommand(retire(programs))
    .addCommand(reseal(programs));

const list = ({ list: run }: TokenKeyPrograms): Command =>
  withExamples(
    withOutputFlag(withServerSettings(new Command("list"), dataFlags))
      .description("list the keys: which one signs, which ones verify, and until when")
      .action(configAction(run)),
    ["The keys of a server, on its machine", "signet keys list --data-dir /var/lib/signet"],
  );

interface RotateFlags {
  readonly algorithm?: KeyAlgorithm;
  /** Milliseconds. */
  readonly publishFor?: number;
}

const rotate = ({ rotate: run }: TokenKeyPrograms): Command =>
  withExamples(
    withServerSettings(new Command("rotate"), dataFlags)
      .description("make a new key: published from now on, so that verifiers know it, and signing after a time")
      .addOption(
        new Option("--algorithm <algorithm>", "what the new key signs with; default: as the key before").choices(
          algorithms,
        ),
      )
      .addOption(
        durationOption(
          "--publish-for <duration>",
          "how long the new key is published before it signs; at least as long as relying parties keep the keys; default: 70m",
        ),
      )
      .action(async ({ algorithm, publishFor }: RotateFlags, self: Command) => {
        const publishMilliseconds = publishFor ?? defaultPublishMilliseconds;
        if (publishMilliseconds < shortestPublishMilliseconds) {
          throw new UsageError("--publish-for: at least 10s: workers and replicas need that time to learn the key");
        }
        if (publishMilliseconds > longestPublishMilliseconds) {
          throw new UsageError("--publish-for: at most 90d: until then, the old key signs");
        }
        await withServerConfig(self, async (config) => run(config, { algorithm, publishMilliseconds }));
      }),
    ["A new key of the same kind", "signet keys rotate --data-dir /var/lib/signet"],
    ["Another algorithm", "signet keys rotate --algorithm EdDSA --data-dir /var/lib/signet"],
    ["The key has leaked: sign with another one as soon as possible", "signet keys rotate --publish-for 10s"],
  );

/** The ID of a key from an argument, which may have the form that `-o name` prints. */
const keyId = nameWithoutKind("tokenkey");

const retire = ({ retire: run }: TokenKeyPrograms): Command =>
  withExamples(
    withServerSettings(new Command("retire"), dataFlags)
      .description("remove a key whose tokens have ended, or one that does not sign yet")
      .argument("<key>", "its id, as signet keys list shows it", (given: string) => {
        const id = keyId(given);
        if (/^[\w-]{1,128}$/.test(id)) return id;
        throw new InvalidArgumentError("it is not the id of a key");
      })
      .option("--force", "also one with valid tokens: they are refused from then on", false)
      .action(
        argumentConfigAction<{ readonly force: boolean }>((config, { argument: kid, flags }) =>
          run(config, { kid, isForced: flags.force }),
        ),
      ),
    ["When signet keys list says that it has ended", "signet keys retire 6Ua3FhP0Hc8bZ2e7mE1uQk9rXv4tYw5sLd0jNiGoBzA"],
  );

const reseal = ({ reseal: run }: TokenKeyPrograms): Command =>
  withExamples(
    withServerSettings(new Command("reseal"), dataFlags)
      .description(
        "make another sealing.key when it is lost, and give up the private keys in the store that are in no file",
      )
      .option("-y, --yes", "do not ask", false)
      .action(
        configAction((config, { yes }: { readonly yes: boolean }) =>
          run(config, async () => {
            if (yes || (await confirm("Give up the private keys that only the lost sealing.key opens?"))) return;
            throw new UsageError("nothing was changed: give --yes to give them up without being asked");
          }),
        ),
      ),
    ["After sealing.key was lost forever, with the server stopped", "signet keys reseal --data-dir /var/lib/signet"],
  );
