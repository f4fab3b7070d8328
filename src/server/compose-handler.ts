import { certificateIdentity } from "../features/access/credentials/client-certificate.ts";
import { LoopbackTokens } from "../machinery/authentication/loopback-tokens.ts";
import { createApiServer } from "../machinery/http/api-server.ts";
import type { ExchangeMetrics } from "../machinery/http/metrics/metrics.ts";
import { OpenStreams } from "../machinery/http/open-streams.ts";
import { createResourceHandler } from "../machinery/http/resources/resource-handler.ts";
import { servedDefinitions } from "../machinery/registry/definition/resource-definition.ts";
import { storeBytes } from "../machinery/storage/backends/lmdb-files.ts";
import { openAuthentication } from "./authentication.ts";
import type { ConnectedFeatures } from "./connect-features.ts";
import { shutdownCheck, storeChecks } from "./health-checks.ts";
import { storeDirectory } from "./data-directory/data-directory-places.ts";
import { addDecisionCounter } from "./observation/authorization-observer.ts";
import { authorityEnds } from "./observation/authority-ends.ts";
import { addDomainMetrics } from "./observation/domain-metrics.ts";
import type { OpenedServer } from "./open-server.ts";
import { discovered, reviewDefinitions, servedReviews } from "./served-kinds.ts";
import type { ServerConfig } from "./settings/server-config.ts";
import { signetVersion } from "./signet-version.ts";

/** What changes while the server runs. */
export interface ServerState {
  /** Empty until the server listens. */
  url: string;
  openStreams: () => number;
  isStopping: boolean;
  /** How long running requests may take when the server stops. */
  graceMilliseconds: number;
}

interface ComposeHandlerOptions {
  readonly opened: OpenedServer;
  readonly connected: ConnectedFeatures;
  /** The stack of everything that must be closed when the server stops. */
  readonly opening: AsyncDisposableStack;
  readonly state: Readonly<ServerState>;
  /** Exchanges metrics with the other processes of this server. */
  readonly otherMetrics: ExchangeMetrics | undefined;
}

/**
 * The stage "Compose" of a start: combines the features into the handler of requests. It can answer from then on, but no listener is open
 * yet.
 */
export async function composeHandler(
  config: ServerConfig,
  { opened, connected, opening, state, otherMetrics }: ComposeHandlerOptions,
) {
  const { names } = config;
  const { shared, store, healthChecks, observation, stores } = opened;
  const { access, accounts, authorize, revocation, status } = connected;
  const { log, clock } = shared;

  const loopback = new LoopbackTokens();
  const authentication = openAuthentication({
    log,
    ...connected,
    loopback,
    onOutcome: observation.onAuthenticated,
  });
  const reviewToken = observation.counted(authentication.reviewToken);
  const reviews = servedReviews(
    names,
    reviewDefinitions(access.reviews, {
      tokenReviews: accounts.tokenReviews(reviewToken),
      certificateReviews: revocation.certificateReviews(certificateIdentity),
    }),
  );
  const resources = stores.definitions.flatMap((definition) => servedDefinitions(definition));
  const audit = opening.adopt(
    config.audit &&
      (await import("./audit/open-audit.ts")).openAudit(config.audit, {
        ...shared,
        resources,
        reviews,
      }),
    (sinks) => sinks?.close(),
  );
  const streams = new OpenStreams(authentication.isRefused);
  actOnRevocations(streams, { opened, connected });
  const { handler, metrics } = createApiServer({
    definitions: discovered(names, [...resources, ...reviews]),
    waitForFreshCache: (request) => stores.waitForFreshCache(request),
    ...authentication.steps,
    impersonate: (request, caller) => access.impersonate(request.headers, caller),
    authorize,
    handleResource: createResourceHandler({
      registries: stores.registries,
      reviews,
      admission: stores.admission,
      authorize,
      clock,
    }),
    api: { names, version: signetVersion, resources, reviews },
    pathRoutes: new Map([...accounts.pathRoutes(() => state.url), ...(status?.routes ?? [])]),
    healthChecks: [...storeChecks(store, stores), ...healthChecks, shutdownCheck(state)],
    log,
    audit,
    serverAddress: () => state.url.replace("https://", ""),
    openStreams: () => state.openStreams(),
    onStreamStarted: (user, end) => streams.add(user, end),
    maximumReads: config.limits.maximumReads,
    maximumWrites: config.limits.maximumWrites,
    maximumWatches: config.limits.maximumWatches,
    registry: observation.registry,
    otherMetrics,
    onAnswered: observation.onAnswered,
  });
  addMetrics(config, { opened, connected });
  return { handler, metrics, loopback };
}

/** Ends the streams of users whose credentials are refused from now on, and replaces the server's own certificate when it is revoked. */
function actOnRevocations(
  streams: OpenStreams,
  { opened, connected }: Pick<ComposeHandlerOptions, "opened" | "connected">,
): void {
  connected.nodes.onLocked(() => streams.endRefused());
  connected.revocation.onRevoked(() => {
    streams.endRefused();
    opened.certificate.renewRevoked();
  });
}

/** Adds the metrics that parts of the server compute when metrics are read. */
function addMetrics(
  { names, dataDirectory }: ServerConfig,
  { opened, connected }: Pick<ComposeHandlerOptions, "opened" | "connected">,
): void {
  const { shared, usesEtcd, store, observation, stores, quota } = opened;
  const { registry, queueCounts, signerLabel } = observation;
  addDecisionCounter(registry, connected.authorizers.counts);
  addDomainMetrics({
    registry,
    clock: shared.clock,
    stores,
    store,
    quota,
    queueCounts,
    signerLabel,
    storedBytes: () => (usesEtcd ? store.sizeBytes?.() : storeBytes(storeDirectory(dataDirectory))),
    unusableFiles: () => shared.followed.unusable(),
    authorityEnds: () => authorityEnds(names, opened),
  });
}
