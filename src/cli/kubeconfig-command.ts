import { Command } from "commander";
import { parseDuration } from "../machinery/api/duration.ts";
import type { ApiObject } from "../machinery/api/object-meta.ts";
import { formatKubeconfig } from "../machinery/client/kubeconfig.ts";
import type { KubeconfigContents } from "../machinery/client/kubeconfig.ts";
import { connect, withConnectionFlags } from "../machinery/command-line/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../machinery/command-line/connection.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { outputFile, writePrivateOutput } from "../machinery/command-line/output-file.ts";
import { requestClientCertificate } from "../features/certificates/commands.ts";
import { serviceAccountResource } from "../features/accounts/resources.ts";

interface KubeconfigFlags extends ConnectionFlags {
  readonly user?: string;
  readonly group: readonly string[];
  readonly serviceAccount?: string;
  readonly duration: string;
  readonly outputFile?: string;
}

const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

/** `signet kubeconfig`: a kubeconfig for a user (a client certificate) or for a service account (a token). */
export const kubeconfig = (): Command =>
  withConnectionFlags(new Command("kubeconfig"))
    .description("make a kubeconfig for a user or a service account")
    .option("--user <name>", "a user: gets a client certificate, requested and approved as you")
    .option("--group <name>", "a group of that user; may be repeated", collect, [])
    .option("--service-account <name>", "a service account of the namespace: gets a token")
    .option("--duration <duration>", "how long the credentials last", "24h")
    .option("--output-file <file>", "where to write it (0600); default: standard output")
    .action(async (flags: KubeconfigFlags) => {
      const milliseconds = parseDuration(flags.duration);
      if (milliseconds === undefined)
        throw new UsageError(`--duration: ${JSON.stringify(flags.duration)} is not a duration`);
      if ((flags.user === undefined) === (flags.serviceAccount === undefined)) {
        throw new UsageError("name one of --user and --service-account");
      }
      const output = outputFile("output-file", flags.outputFile);
      const connection = await connect(flags);
      const expirationSeconds = Math.round(milliseconds / 1000);
      const text = formatKubeconfig({
        server: connection.transport.server,
        caCertificates: connection.transport.caCertificates ?? "",
        ...(await credentialsFor(flags, { connection, expirationSeconds })),
      });
      if (output === undefined) process.stdout.write(text);
      else writePrivateOutput(output, text);
      connection.client.close();
    });

type Identity = Pick<KubeconfigContents, "user" | "namespace" | "credentials">;

interface Wanted {
  readonly connection: ServerConnection;
  readonly expirationSeconds: number;
}

async function credentialsFor(flags: KubeconfigFlags, { connection, expirationSeconds }: Wanted): Promise<Identity> {
  const { client, names, namespace } = connection;
  if (flags.user !== undefined) {
    const { user, group } = flags;
    const pair = await requestClientCertificate(connection, { user, groups: group, expirationSeconds });
    return { user, namespace, credentials: { type: "certificate", ...pair } };
  }
  const account = flags.serviceAccount ?? "";
  const { status } = await client
    .resource(serviceAccountResource(names), namespace)
    .createSubresource<ApiObject & { spec: unknown; status?: { token: string } }>(account, "token", {
      apiVersion: `${names.group("authentication")}/v1`,
      kind: "TokenRequest",
      metadata: {},
      spec: { audiences: [], expirationSeconds },
    });
  return { user: account, namespace, credentials: { type: "token", token: status?.token ?? "" } };
}
