import { Command } from "commander";
import { ApiError } from "../../../machinery/api/api-error.ts";
import { parseDuration } from "../../../machinery/api/duration.ts";
import type { ResourceClient } from "../../../machinery/client/api-client.ts";
import { formatKubeconfig } from "../../../machinery/client/kubeconfig.ts";
import type { Secret } from "../../core/index.ts";
import { bootstrapGroup, permitNodeBootstrap } from "./bootstrap-permissions.ts";
import { bootstrapTokenOf, newBootstrapToken, tokenIdOf } from "./bootstrap-token-secret.ts";
import type { BootstrapToken } from "./bootstrap-token-secret.ts";
import { connect, withConnectionFlags } from "../../../machinery/command-line/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { print, table, withOutputFlag } from "../../../machinery/command-line/output.ts";
import type { OutputFormat } from "../../../machinery/command-line/output.ts";
import { outputFile, writePrivateOutput } from "../../../machinery/command-line/output-file.ts";
import { secretResource } from "../../core/index.ts";

/** `signet bootstrap-token create|list|delete`: manages the tokens with which new machines authenticate. */
export const bootstrapToken = (): Command =>
  new Command("bootstrap-token")
    .description("manage the tokens with which new machines authenticate")
    .addCommand(create())
    .addCommand(list())
    .addCommand(remove());

interface CreateFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly ttl: string;
  readonly group: readonly string[];
  readonly description?: string;
  readonly kubeconfigFile?: string;
  readonly permissions: boolean;
}

const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

const create = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("create")))
    .description("create a bootstrap token; it is shown only once")
    .option("--ttl <duration>", "the lifetime, such as 24h; 0: the token does not expire", "24h")
    .option(
      "--group <group>",
      `a group in addition to system:bootstrappers; may be repeated (default: ${bootstrapGroup})`,
      collect,
      [],
    )
    .option("--description <text>", "what the token is for")
    .option(
      "--kubeconfig-file <file>",
      "also write a kubeconfig with server, CA and token, for signet agent --kubeconfig",
    )
    .option("--no-permissions", `do not grant ${bootstrapGroup} node certificates, nor nodes their renewal`)
    .action(async (flags: CreateFlags) => {
      const milliseconds = parseDuration(flags.ttl);
      if (milliseconds === undefined)
        throw new UsageError(`--ttl: ${JSON.stringify(flags.ttl)} is not a duration such as 90m or 24h`);
      const output = outputFile("kubeconfig-file", flags.kubeconfigFile);
      const connection = await connect(flags);
      if (flags.permissions) {
        for (const name of await permitNodeBootstrap(connection)) console.error(`created ClusterRoleBinding ${name}`);
      }
      const { token, secret } = newBootstrapToken(connection.names, {
        groups: flags.group.length > 0 ? flags.group : [bootstrapGroup],
        expiresAt: milliseconds === 0 ? undefined : Date.now() + milliseconds,
        description: flags.description,
      });
      const created = await systemSecrets(connection).create(secret);
      const made = bootstrapTokenOf(created);
      // Print it first: the token is valid from now on, even if the file cannot be written.
      print({ token, ...made }, flags.output, () => token);
      if (output !== undefined) writePrivateOutput(output, bootstrapKubeconfig(connection, token));
      connection.client.close();
    });

const systemSecrets = ({ client, names }: ServerConnection): ResourceClient<Secret> =>
  client.resource(secretResource(names), names.namespaces.system);

function bootstrapKubeconfig({ transport }: ServerConnection, token: string): string {
  const { server, caCertificates = "" } = transport;
  return formatKubeconfig({ server, caCertificates, user: "bootstrap", credentials: { type: "token", token } });
}

const list = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("list")))
    .description("list bootstrap tokens, without their secrets")
    .action(async (flags: ConnectionFlags & { readonly output: OutputFormat }) => {
      const connection = await connect(flags);
      const { items } = await systemSecrets(connection).list({
        fieldSelector: `type=bootstrap.${connection.names.domain}/token`,
      });
      const tokens = items.map(bootstrapTokenOf);
      print(tokens, flags.output, () => table(["ID", "EXPIRES", "STATE", "GROUPS", "DESCRIPTION"], tokens.map(rowOf)));
      connection.client.close();
    });

const rowOf = ({ id, expiration, groups, description }: BootstrapToken): string[] => [
  id,
  expiration ?? "<never>",
  expiration !== undefined && !(Date.parse(expiration) > Date.now()) ? "expired" : "valid",
  groups.join(","),
  description ?? "<none>",
];

const remove = (): Command =>
  withConnectionFlags(new Command("delete"))
    .description("delete bootstrap tokens; they stop authenticating")
    .argument("<token-or-id...>")
    .action(async (given: readonly string[], flags: ConnectionFlags) => {
      const ids = given.map((one) => {
        const id = tokenIdOf(one);
        if (id === undefined)
          throw new UsageError("not a bootstrap token: give its ID (six lowercase letters and digits) or ID.SECRET");
        return id;
      });
      const connection = await connect(flags);
      for (const id of ids) {
        await systemSecrets(connection).delete(`bootstrap-token-${id}`).catch(explainMissing(id));
        console.log(`bootstrap token ${id} deleted`);
      }
      connection.client.close();
    });

const explainMissing = (id: string) => (error: unknown) => {
  if (error instanceof ApiError && error.code === 404)
    throw new UsageError(`there is no bootstrap token ${id}: signet bootstrap-token list shows all`);
  throw error;
};
