import type { Command } from "commander";
import type { Names } from "../api/names.ts";
import { ApiClient } from "../client/api-client.ts";
import { httpsTransport } from "../client/https-transport.ts";
import type { HttpsTransportOptions } from "../client/https-transport.ts";
import { readKubeconfig } from "../client/kubeconfig.ts";
import { namesOfServer } from "../client/names-of-server.ts";
import { UsageError } from "./flag.ts";

/** Everything that a command needs to talk to a server. */
export interface ServerConnection {
  readonly client: ApiClient;
  readonly transport: HttpsTransportOptions;
  readonly names: Names;
  /** Of `--namespace`, else of the kubeconfig's context, else `default`. */
  readonly namespace: string;
}

export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly token?: string;
}

/** The flags of every command that talks to a server, with kubectl's names. */
export const withConnectionFlags = (command: Command): Command =>
  command
    .option("--kubeconfig <file>", "the kubeconfig; default: $KUBECONFIG, else ~/.kube/config")
    .option("--context <name>", "the kubeconfig's context; default: its current one")
    .option("-n, --namespace <name>", "the namespace; default: the context's")
    .option("--token <token>", "a bearer token in place of the kubeconfig's credentials");

/** Connects as the flags say, and detects the server's naming profile. Throws UsageError or KubeconfigError. */
export async function connect(flags: ConnectionFlags): Promise<ServerConnection> {
  const { transport, namespace } = readKubeconfig({
    ...(flags.kubeconfig !== undefined && { file: flags.kubeconfig }),
    ...(flags.context !== undefined && { context: flags.context }),
  });
  const { token } = flags;
  const { clientCertificate: _replaced, ...anonymous } = transport;
  const credentials = token === undefined ? transport : { ...anonymous, bearerToken: () => token };
  const client = new ApiClient(httpsTransport(credentials));
  const names = await detectNames(client);
  return { client, transport, names, namespace: flags.namespace ?? namespace };
}

/** Detects the naming profile of the server. */
async function detectNames(client: ApiClient): Promise<Names> {
  const names = await namesOfServer(client);
  if (names === undefined) throw new UsageError("the server offers no authentication API: it is not a Signet server");
  return names;
}
