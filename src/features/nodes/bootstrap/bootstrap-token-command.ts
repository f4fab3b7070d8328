import { Command } from "commander";
import { ApiError } from "../../../machinery/api/api-error.ts";
import type { ResourceClient } from "../../../machinery/client/api-client.ts";
import { formatKubeconfig } from "../../../machinery/client/kubeconfig/new-kubeconfig.ts";
import type { Secret } from "../../core/index.ts";
import { bootstrapGroup, permitNodeBootstrap } from "./bootstrap-permissions.ts";
import { isNodePattern } from "./bootstrap-binding.ts";
import {
  bootstrapSecretName,
  bootstrapSecretType,
  bootstrapTokenEnd,
  bootstrapTokenOf,
  isBootstrapGroup,
  newBootstrapToken,
  tokenIdOf,
} from "./bootstrap-token-secret.ts";
import type { BootstrapToken } from "./bootstrap-token-secret.ts";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { forEachName } from "../../../machinery/command-line/for-each-name.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import { durationOption, repeatedOption } from "../../../machinery/command-line/options.ts";
import {
  objectName,
  print,
  textTableOf,
  withAnswerOutputFlag,
  withOutputFlag,
} from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { nameWithoutKind } from "../../../machinery/command-line/name-without-kind.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { kubeconfigOutput } from "../../../machinery/command-line/output/kubeconfig-output.ts";
import { writePrivateOutput } from "../../../machinery/command-line/output/output-file.ts";
import { secretResource } from "../../core/index.ts";

/** `signet bootstrap-token create|list|delete`: manages the tokens with which new machines authenticate. */
export const bootstrapToken = (): Command =>
  new Command("bootstrap-token")
    .description("manage the tokens with which new machines authenticate")
    .addCommand(create())
    .addCommand(list())
    .addCommand(remove());

interface CreateFlags extends ConnectionFlags, OutputFlags {
  /** Milliseconds. */
  readonly ttl?: number;
  readonly group?: readonly string[];
  readonly description?: string;
  readonly kubeconfigFile?: string;
  readonly permissions: boolean;
  readonly node?: string;
  readonly once: boolean;
  readonly allowExistingNode: boolean;
}

const defaultLifetime = { text: "24h", milliseconds: 24 * 3_600_000 };

const create = (): Command =>
  withExamples(
    withAnswerOutputFlag(withConnectionFlags(new Command("create")))
      .description("create a bootstrap token; it is shown only once")
      .addOption(
        durationOption(
          "--ttl <duration>",
          `the lifetime, such as 24h or 7d; 0: the token does not expire (default: ${defaultLifetime.text})`,
        ),
      )
      .addOption(
        repeatedOption(
          "--group <group>",
          `a group in addition to system:bootstrappers; commas too (default: ${bootstrapGroup})`,
        ),
      )
      .option("--node <name>", "the only node that may come with it; a * in the name stands for any characters")
      .option("--once", "for one machine: the first key that asks is the only one", false)
      .option("--allow-existing-node", "also for a node that exists: its machine comes again with a new key", false)
      .option("--description <text>", "what the token is for")
      .option(
        "--kubeconfig-file <file>",
        "also write a kubeconfig with server, CA and token, for signet agent --kubeconfig",
      )
      .option("--no-permissions", `do not grant ${bootstrapGroup} node certificates, nor nodes their renewal`)
      .action(createToken),
    ["A token for a week", 'signet bootstrap-token create --ttl 7d --description "edge machines"'],
    ["A token for one machine", "signet bootstrap-token create --node edge-7 --once"],
    ["All that a machine needs, in one file", "signet bootstrap-token create --kubeconfig-file bootstrap.kubeconfig"],
  );

async function createToken(flags: CreateFlags): Promise<void> {
  if (flags.node !== undefined && !isNodePattern(flags.node)) {
    throw new UsageError(`--node: ${JSON.stringify(flags.node)} is not a node's name, nor one with a single *`);
  }
  const groups = (flags.group ?? [bootstrapGroup]).flatMap((group) => group.split(","));
  const wrongGroup = groups.find((group) => !isBootstrapGroup(group));
  if (wrongGroup !== undefined) {
    throw new UsageError(
      `--group: ${JSON.stringify(wrongGroup)} is not a group such as system:bootstrappers:edge, in lower case letters, digits, : and -`,
    );
  }
  const output = kubeconfigOutput({ namedBy: "--kubeconfig-file", file: flags.kubeconfigFile }, kubeconfigUser);
  await withServer(flags, async (connection) => {
    if (flags.permissions) {
      for (const name of await permitNodeBootstrap(connection)) {
        console.error(`created ClusterRoleBinding ${name}`);
      }
    }
    const { ttl = defaultLifetime.milliseconds, description } = flags;
    const { token, secret } = newBootstrapToken(connection.names, {
      groups,
      expiresAt: ttl === 0 ? undefined : Date.now() + ttl,
      description,
      nodeNames: flags.node,
      isForOneUse: flags.once,
      mayReplaceNode: flags.allowExistingNode,
    });
    const made = bootstrapTokenOf(await systemSecrets(connection).create(secret));
    // Print it first: the token is valid from now on, even if the file cannot be written.
    print({ token, ...made }, { flags, text: () => token });
    if (output !== undefined) writePrivateOutput(output, bootstrapKubeconfig(connection, token));
  });
}

const systemSecrets = ({ client, names }: ServerConnection): ResourceClient<Secret> =>
  client.resource(secretResource(names), names.namespaces.system);

const kubeconfigUser = "bootstrap";

function bootstrapKubeconfig({ transport }: ServerConnection, token: string): string {
  const { server, caCertificates = "" } = transport;
  return formatKubeconfig({ server, caCertificates, user: kubeconfigUser, credentials: { type: "token", token } });
}

const columns: readonly TextColumn<BootstrapToken>[] = [
  { header: "ID", cell: ({ id }) => id },
  { header: "EXPIRES", cell: ({ expiration }) => expiration ?? "<never>" },
  { header: "STATE", cell: (token) => stateOf(token) },
  { header: "NODES", cell: ({ usedBy, nodeNames }) => usedBy ?? nodeNames ?? "<any>" },
  { header: "GROUPS", cell: ({ groups }) => groups.join(",") },
  { header: "DESCRIPTION", cell: ({ description }) => description ?? "<none>" },
];

function stateOf({ expiration, usedBy, isUsable }: BootstrapToken): string {
  if (!isUsable) return "unusable";
  if ((bootstrapTokenEnd(expiration) ?? Infinity) <= Date.now()) return "expired";
  return usedBy === undefined ? "valid" : "used";
}

const list = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("list")))
      .description("list bootstrap tokens, without their secrets")
      .action((flags: ConnectionFlags & OutputFlags) =>
        withServer(flags, async (connection) => {
          const { items } = await listAll(systemSecrets(connection), {
            fieldSelector: `type=${bootstrapSecretType(connection.names)}`,
          });
          const tokens = items.map(bootstrapTokenOf);
          const type = secretResource(connection.names);
          const names = items.map(({ metadata }) => objectName(type, metadata.name));
          const isForPeople = flags.output === undefined || flags.output === "wide";
          if (tokens.length === 0 && isForPeople) console.error("No bootstrap tokens found.");
          else print(tokens, { flags, text: () => textTableOf(tokens, { columns, flags }), names });
        }),
      ),
    ["All tokens, and when they end", "signet bootstrap-token list"],
  );

const remove = (): Command =>
  withExamples(
    withConnectionFlags(new Command("delete"))
      .description("delete bootstrap tokens; they stop authenticating")
      .argument("<token-or-id...>", "the tokens, or their IDs, which are the part before the dot")
      .action(async (given: readonly string[], flags: ConnectionFlags) => {
        const ids = given.map((one) => {
          const id = tokenIdOf(nameWithoutKind("secret")(one));
          if (id !== undefined) return id;
          throw new UsageError("not a bootstrap token: give its ID (six lowercase letters and digits) or ID.SECRET");
        });
        await withServer(flags, (connection) =>
          forEachName(ids, async (id) => {
            await systemSecrets(connection).delete(bootstrapSecretName(id)).catch(explainMissing(id));
            console.log(`bootstrap token ${id} deleted`);
          }),
        );
      }),
    ["Delete a token by its ID", "signet bootstrap-token delete ctdamn"],
  );

const explainMissing = (id: string) => (error: unknown) => {
  if (!(error instanceof ApiError && error.code === 404)) throw error;
  throw commandRefused(`there is no bootstrap token ${id}: signet bootstrap-token list shows all`, { cause: error });
};
