import { Command } from "commander";
import { formatKubeconfig } from "../machinery/client/kubeconfig/new-kubeconfig.ts";
import type { KubeconfigContents } from "../machinery/client/kubeconfig/new-kubeconfig.ts";
import { withConnectionFlags, withServer } from "../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../machinery/command-line/connection/connection.ts";
import { withExamples } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import { durationOption, repeatedOption, secondsOf } from "../machinery/command-line/options.ts";
import { writeOutput } from "../machinery/command-line/output/output.ts";
import { kubeconfigOutput } from "../machinery/command-line/output/kubeconfig-output.ts";
import { writePrivateOutput } from "../machinery/command-line/output/output-file.ts";
import { requestClientCertificate } from "../features/certificates/commands.ts";
import { isRequestableLifetime, lifetimeFault } from "../features/certificates/resources.ts";
import { requestToken } from "../features/accounts/commands.ts";

interface KubeconfigFlags extends ConnectionFlags {
  readonly user?: string;
  readonly group?: readonly string[];
  readonly serviceAccount?: string;
  /** Milliseconds. */
  readonly duration?: number;
  readonly outputFile?: string;
}

const defaultDuration = { text: "24h", milliseconds: 24 * 3_600_000 };

/** `signet kubeconfig`: a kubeconfig for a user (a client certificate) or for a service account (a token). */
export const kubeconfig = (): Command =>
  withExamples(
    withConnectionFlags(new Command("kubeconfig"))
      .description("make a kubeconfig for a user or a service account")
      .option("--user <name>", "a user: gets a client certificate, requested and approved as you")
      .addOption(repeatedOption("--group <name>", "a group of that user"))
      .option("--service-account <name>", "a service account of the namespace: gets a token")
      .addOption(
        durationOption("--duration <duration>", `how long the credentials last (default: ${defaultDuration.text})`),
      )
      .option("--output-file <file>", "where to write it (0600); default: standard output")
      .action(async (flags: KubeconfigFlags) => {
        if ((flags.user === undefined) === (flags.serviceAccount === undefined)) {
          throw new UsageError("name one of --user and --service-account");
        }
        if (flags.group !== undefined && flags.user === undefined) {
          throw new UsageError("--group: only a user has groups that you choose; give --user");
        }
        const expirationSeconds = secondsOf(flags.duration ?? defaultDuration.milliseconds);
        if (flags.user !== undefined && !isRequestableLifetime(expirationSeconds)) {
          throw new UsageError(`--duration ${lifetimeFault}, for a user`);
        }
        const user = flags.user ?? flags.serviceAccount ?? "";
        const output = kubeconfigOutput({ namedBy: "--output-file", file: flags.outputFile }, user);
        await withServer(flags, async (connection) => {
          const { server, caCertificates = "" } = connection.transport;
          const identity = await credentialsFor({ ...flags, expirationSeconds }, connection);
          const text = formatKubeconfig({ server, caCertificates, ...identity });
          if (output === undefined) writeOutput(text);
          else writePrivateOutput(output, text);
        });
      }),
    [
      "For a person, for a month",
      "signet kubeconfig --user anna --group dev --duration 30d --output-file anna.kubeconfig",
    ],
    ["For a program", "signet kubeconfig --service-account robot --namespace team --output-file robot.kubeconfig"],
  );

type Identity = Pick<KubeconfigContents, "user" | "namespace" | "credentials">;

async function credentialsFor(
  flags: KubeconfigFlags & { readonly expirationSeconds: number },
  connection: ServerConnection,
): Promise<Identity> {
  const { namespace } = connection;
  const { expirationSeconds } = flags;
  if (flags.user !== undefined) {
    const { user, group = [] } = flags;
    const pair = await requestClientCertificate(connection, { user, groups: group, expirationSeconds });
    return { user, namespace, credentials: { type: "certificate", ...pair } };
  }
  const account = flags.serviceAccount ?? "";
  const { token } = await requestToken(connection, { account, spec: { audiences: [], expirationSeconds } });
  return { user: account, namespace, credentials: { type: "token", token } };
}
