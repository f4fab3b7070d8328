import { isDeepStrictEqual } from "node:util";
import { Option } from "commander";
import type { Command } from "commander";
import { actingHeaders } from "../../client/kubeconfig/acting-headers.ts";
import type { ActingUser } from "../../client/kubeconfig/acting-headers.ts";
import { longestTimerMilliseconds } from "../../api/clock.ts";
import type { Names } from "../../api/names.ts";
import { answerFault } from "../../client/answer-fault.ts";
import { ApiClient } from "../../client/api-client.ts";
import type { HttpsTransportOptions } from "../../client/https/https-transport.ts";
import { isTokenText } from "../../client/is-token-text.ts";
import { readKubeconfig } from "../../client/kubeconfig/kubeconfig.ts";
import type { KubeconfigContext } from "../../client/kubeconfig/kubeconfig.ts";
import { KubeconfigError } from "../../client/kubeconfig/kubeconfig-error.ts";
import { namesOfServer } from "../../client/names-of-server.ts";
import type { Transport } from "../../client/transport.ts";
import type { FollowedFiles } from "../../files/followed/followed-files.ts";
import { CommandFailure } from "../command-failure.ts";
import { commandTransport } from "./command-transport.ts";
import { UsageError } from "../settings/flag.ts";
import { durationOption, repeatedOption } from "../options.ts";

/** Everything that a command needs to talk to a server. */
export interface ServerConnection {
  readonly client: ApiClient;
  readonly transport: HttpsTransportOptions;
  readonly names: Names;
  /** The namespace of `--namespace`, else of the kubeconfig's context, else `default`. */
  readonly namespace: string;
  /** The duration of `--timeout`, cut to the longest that a timer can wait. 0 means no limit. */
  readonly timeoutMilliseconds: number;
}

export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly token?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  /** Milliseconds. */
  readonly timeout?: number;
}

const defaultTimeout = { text: "30s", milliseconds: 30_000 };

/** The flags of every command that talks to a server, with kubectl's names where kubectl has them. */
const connectionOptions = (): Option[] =>
  [
    new Option("--kubeconfig <file>", "the kubeconfig; default: $KUBECONFIG, else ~/.kube/config"),
    new Option("--context <name>", "the kubeconfig's context; default: its current one"),
    new Option("-n, --namespace <name>", "the namespace; default: the context's"),
    new Option(
      "--token <token>",
      "a bearer token in place of the kubeconfig's credentials; every user of the machine can see it",
    ),
    new Option("--as <user>", "act as this user, which needs the permission to impersonate"),
    repeatedOption("--as-group <group>", "act as a member of this group, with --as"),
    durationOption(
      "--timeout <duration>",
      `how long to wait for an answer, and with --wait for the result; 0: without end (default: ${defaultTimeout.text})`,
    ),
  ].map((option) => option.helpGroup("Connection flags:"));

/** Adds the flags of `connectionOptions`. */
export function withConnectionFlags(command: Command): Command {
  for (const option of connectionOptions()) command.addOption(option);
  return command;
}

interface ConnectOptions {
  /** Wraps the transport, so that all requests go through it. */
  readonly observed?: (transport: Transport) => Transport;
  /** Reads the kubeconfig again when it or a file that it names changes. Default: it is read once. */
  readonly followed?: FollowedFiles;
}

/**
 * Connects as the flags say, and detects the names that the server uses. When a followed kubeconfig changes, the next request uses its new
 * credentials and CAs. A change of the server, of the proxy or of the user to act as is not used. Throws UsageError, KubeconfigError or
 * CommandFailure.
 */
export async function connect(
  flags: ConnectionFlags,
  { observed = (transport) => transport, followed }: ConnectOptions = {},
): Promise<ServerConnection> {
  const { token, timeout = defaultTimeout.milliseconds } = flags;
  const timeoutMilliseconds = Math.min(timeout, longestTimerMilliseconds);
  const actsAs = actingUserOf(flags);
  const read = (): KubeconfigContext => {
    const context = readKubeconfig({
      file: flags.kubeconfig,
      context: flags.context,
      isTokenGiven: token !== undefined,
      isFollowed: followed !== undefined,
    });
    return { ...context, transport: withToken(context.transport, token) };
  };
  let current = read();
  const { namespace } = current;
  followed?.follow({
    setting: "kubeconfig",
    files: () => current.files,
    load() {
      const next = read();
      if (!isDeepStrictEqual(withoutCredentials(next.transport), withoutCredentials(current.transport))) {
        throw new KubeconfigError(
          "it names another server or way to it, or another user to act as: start again to use it",
        );
      }
      return (current = next);
    },
  });
  const transport = {
    ...current.transport,
    ...(followed !== undefined && {
      tlsCredentials: () => current.transport,
      bearerToken: () => current.transport.bearerToken?.(),
    }),
    ...(actsAs !== undefined && { headers: actingHeaders(actsAs) }),
  };
  const client = new ApiClient(observed(commandTransport({ transport, timeoutMilliseconds })));
  try {
    const names = await detectNames(client, transport.server);
    return { client, transport, names, namespace: flags.namespace ?? namespace, timeoutMilliseconds };
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * Connects, does the work of a command, and always closes the connections. Throws UnreadableAnswer when a field of an answer has another
 * type than the API defines.
 */
export async function withServer(
  flags: ConnectionFlags,
  work: (connection: ServerConnection) => Promise<void>,
): Promise<void> {
  const connection = await connect(flags);
  try {
    await work(connection);
  } catch (error) {
    throw answerFault(error);
  } finally {
    connection.client.close();
  }
}

/** The part of a kubeconfig that cannot change while it is followed. */
const withoutCredentials = ({
  caCertificates: _cas,
  clientCertificate: _certificate,
  bearerToken: _token,
  ...others
}: HttpsTransportOptions): object => others;

function withToken(transport: HttpsTransportOptions, token: string | undefined): HttpsTransportOptions {
  if (token === undefined) return transport;
  if (!isTokenText(token)) {
    throw new UsageError("--token: no token has spaces, line breaks or letters beyond ASCII; give only the token");
  }
  const { clientCertificate: _replaced, ...anonymous } = transport;
  return { ...anonymous, bearerToken: () => token };
}

/** The user to act as. Undefined: the user that the kubeconfig names. */
function actingUserOf({ as: user, asGroup: groups = [] }: ConnectionFlags): ActingUser | undefined {
  if (user === undefined && groups.length > 0) throw new UsageError("--as-group: give --as too");
  for (const name of [user ?? "", ...groups]) {
    if (/\p{Cc}/u.test(name)) throw new UsageError("--as, --as-group: no name has control characters");
  }
  return user === undefined ? undefined : { user, groups };
}

/** Detects the names that the server uses. */
async function detectNames(client: ApiClient, server: string): Promise<Names> {
  const names = await namesOfServer(client);
  if (names !== undefined) return names;
  throw new CommandFailure(
    `${server} offers no authentication API, so it is not a Signet server; check the kubeconfig`,
    {
      exit: "unreachable",
    },
  );
}
