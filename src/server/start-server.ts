import type { Logger } from "pino";
import type { AdmissionRule } from "../machinery/api/attributes.ts";
import { systemClock } from "../machinery/api/clock.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Handler } from "../machinery/api/http-message.ts";
import { ApiClient } from "../machinery/client/api-client.ts";
import { inProcessTransport } from "../machinery/client/in-process-transport.ts";
import { retryOnConflict } from "../machinery/client/retry-on-conflict.ts";
import type { OwnedFolder } from "../machinery/files/folders/owned-folder.ts";
import type { ExchangeMetrics } from "../machinery/http/metrics/metrics.ts";
import type { Store } from "../machinery/storage/store.ts";
import { createDefaultAccount, defaultServiceAccount } from "../features/accounts/default-service-account.ts";
import type { ConfiguredSigner } from "../features/certificates/signers/signer-configuration.ts";
import { composeHandler } from "./compose-handler.ts";
import type { ServerState } from "./compose-handler.ts";
import { connectFeatures } from "./connect-features.ts";
import type { ConnectedFeatures } from "./connect-features.ts";
import { examineNamedFiles } from "./doctor/examine-permissions.ts";
import { namedFiles } from "./doctor/named-files.ts";
import { listenToClients } from "./listen-to-clients.ts";
import { controllersUser, serverUser } from "./loopback-users.ts";
import { openServer } from "./open-server.ts";
import type { OpenedServer } from "./open-server.ts";
import type { ServerConfig } from "./settings/server-config.ts";
import { startServerLoops } from "./server-loops.ts";
import { configuredSignerGrants, wellKnownSignerGrants } from "./signer-grants.ts";
import { signetVersion } from "./signet-version.ts";

export interface StartOptions {
  readonly log: Logger;
  readonly clock?: Clock;
  /** Additional admission rules, evaluated after the server's own. */
  readonly admission?: readonly AdmissionRule[];
  /** Replaces the data directory's store. The server closes it. */
  readonly store?: Store;
  /** The data directory, when the process that started this one has locked it. Default: this process locks it. */
  readonly folder?: OwnedFolder;
  /**
   * When controllers and compaction start: at once (default), or when `startLoops` is called, so that only one of several processes runs
   * them.
   */
  readonly loops?: "at once" | "when told";
  /** Whether other processes of this server listen on the same port. */
  readonly isPortShared?: boolean;
  /** Exchanges metrics with the other processes of this server. */
  readonly otherMetrics?: ExchangeMetrics;
  /** The descriptor of a listening socket that replaces the address and port of the settings. */
  readonly passedSocket?: number | undefined;
}

export interface RunningServer {
  readonly version: string;
  readonly url: string;
  readonly port: number;
  readonly kubeconfigFile: string;
  /** The address of the listener that serves revocation over plain HTTP. Undefined: there is none. */
  readonly revocationHttpUrl: string | undefined;
  /** PEM of the CAs that verify the serving certificate. */
  readonly caCertificates: string;
  /** Answers requests in this process, through the same chain. */
  readonly handler: Handler;
  /** A client in this process with all permissions. */
  readonly client: ApiClient;
  readonly store: Store;
  /** The metrics of only this process, in Prometheus' text format. */
  metricsText(): Promise<string>;
  /** Reads the changed files that settings name. Without this call, that happens every second. */
  readFilesAgain(): void;
  /** Starts compaction and the enabled controllers. Call it once. */
  startLoops(): void;
  /** Stops requests, watches, controllers and the store, in this order. */
  stop(options?: { readonly graceMilliseconds: number }): Promise<void>;
}

/**
 * Assembles a server and starts it, in the order that docs/architecture.md explains. Everything is closed in reverse order when
 * the server stops or cannot start. Throws UsageError for invalid settings.
 */
export async function startServer(config: ServerConfig, given: StartOptions): Promise<RunningServer> {
  const { log, clock = systemClock, loops = "at once", isPortShared = false } = given;
  await using opening = new AsyncDisposableStack();
  const state: ServerState = { url: "", openStreams: () => 0, isStopping: false, graceMilliseconds: 0 };

  const opened = await openServer(config, { log, clock, store: given.store, folder: given.folder, opening });
  const { shared, store, certificate } = opened;
  const connected = await connectFeatures(config, {
    opened,
    opening,
    admission: given.admission ?? [],
    client: () => client,
  });
  const { handler, metrics, loopback } = await composeHandler(config, {
    opened,
    connected,
    opening,
    state,
    otherMetrics: given.otherMetrics,
  });
  const client = opening.adopt(
    new ApiClient(inProcessTransport(handler, { bearerToken: loopback.issue(serverUser) })),
    (made) => made.close(),
  );
  const { grantTo, delegated } = await prepare(client, { opened, connected, controllers: config.controllers.enabled });
  const { port, revocationHttpUrl, administrator } = await listenToClients(config, {
    opened,
    connected,
    opening,
    state,
    handler,
    client,
    isPortShared,
    passedSocket: given.passedSocket,
  });
  for (const file of opened.newKeys()) log.info({ file }, "private key made");
  // Kubernetes accepts such files too, so these are only warnings. Files of the data directory itself are refused.
  for (const { found, advice } of examineNamedFiles(namedFiles(config))) log.warn({}, `${found}: ${advice}`);

  const running = opening.move();
  let hasLoops = false;
  const startLoops = (): void => {
    if (hasLoops || state.isStopping) return;
    hasLoops = true;
    running.use(
      startServerLoops(config, {
        opened,
        connected,
        handler,
        grantTo,
        delegated,
        administrator,
        controllersToken: () => loopback.issue(controllersUser(config.names)),
      }),
    );
  };
  if (loops === "at once") startLoops();
  return {
    version: signetVersion,
    url: state.url,
    port,
    revocationHttpUrl,
    kubeconfigFile: administrator.kubeconfigFile,
    get caCertificates() {
      return certificate.caCertificates();
    },
    handler,
    client,
    store,
    metricsText: () => metrics.text(),
    readFilesAgain: () => shared.followed.refresh({ isForced: true }),
    startLoops,
    async stop({ graceMilliseconds } = { graceMilliseconds: 0 }) {
      state.graceMilliseconds = graceMilliseconds;
      state.isStopping = true;
      await running.disposeAsync();
    },
  };
}

interface PrepareOptions {
  readonly opened: OpenedServer;
  readonly connected: ConnectedFeatures;
  /** The names of the enabled controllers. */
  readonly controllers: ReadonlySet<string>;
}

/**
 * The stage "Prepare" of a start: writes what clients need before they can connect: default roles, reserved namespaces with their accounts,
 * and the CAs of client certificates.
 */
async function prepare(client: ApiClient, { opened, connected: { access, core }, controllers }: PrepareOptions) {
  const { shared, usesEtcd, authorities } = opened;
  const grantTo = (signers: readonly ConfiguredSigner[]): Promise<void> =>
    retryOnConflict(() =>
      access.prepare(client, [...wellKnownSignerGrants(shared.names), ...configuredSignerGrants(signers)]),
    );
  await grantTo(authorities.configuredSigners());
  const madeNamespaces = await retryOnConflict(() => core.prepare(client));
  // The controller would make them only a moment after the server is ready, and a client may request a token earlier.
  if (controllers.has(defaultServiceAccount.name)) {
    await Promise.all(
      madeNamespaces.map((namespace) => createDefaultAccount(client, { names: shared.names, namespace })),
    );
  }
  const delegated = access.delegatedAuthentication(client, { hasReplicas: usesEtcd });
  await retryOnConflict(() => delegated.publish());
  return { grantTo, delegated };
}
