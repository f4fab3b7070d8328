import type { Handler } from "../api/http-message.ts";
import { createRequestChain } from "./request-chain.ts";
import type { ChainOptions } from "./request-chain.ts";
import { discoveryRoutes } from "./routes/discovery-routes.ts";
import { FairQueue } from "./fair-queue.ts";
import { addHealthMetrics, isHealthMetric } from "./metrics/health-metrics.ts";
import { healthRoutes } from "./routes/health-routes.ts";
import type { HealthCheck } from "./routes/health-routes.ts";
import { Metrics } from "./metrics/metrics.ts";
import type { AuditCounts, MetricsOptions } from "./metrics/metrics.ts";
import { openApiRoutes } from "./routes/openapi-routes.ts";
import type { ApiDescription } from "../schema/openapi/openapi.ts";
import type { RequestAudit } from "./request-audit.ts";
import { withIndex } from "./routes/path-routes.ts";
import type { PathRoute } from "./routes/path-routes.ts";
import { ServedResources } from "./served-resources.ts";
import type { Definition } from "./served-resources.ts";
import { versionRoutes } from "./routes/version-routes.ts";
import { WatchBound } from "./watch-bound.ts";

export interface ApiServerOptions extends Omit<
  ChainOptions,
  "readOnlyQueue" | "mutatingQueue" | "watches" | "servedResources" | "audit"
> {
  /** Every served kind, stored or not. Discovery lists groups and versions in this order. */
  readonly definitions: readonly Definition[];
  /** What the OpenAPI documents describe. */
  readonly api: ApiDescription;
  readonly healthChecks: readonly HealthCheck[];
  readonly audit: { readonly requests: RequestAudit; counts(): AuditCounts } | undefined;
  /** Host and port. Known once the server listens. */
  serverAddress(): string;
  /** The number of open watches. */
  openStreams(): number;
  /** Upstream's `--max-requests-inflight` and `--max-mutating-requests-inflight`. */
  readonly maximumReads: number;
  readonly maximumWrites: number;
  readonly maximumWatches: number;
  readonly registry: MetricsOptions["registry"];
  /** Exchanges metrics with the other processes of this server. */
  readonly otherMetrics: MetricsOptions["others"];
}

/** The whole server behind a listener or an in-process client: the request chain and all its handlers. */
export function createApiServer(options: ApiServerOptions): { readonly handler: Handler; readonly metrics: Metrics } {
  const readOnlyQueue = queueOf(options.maximumReads);
  const mutatingQueue = queueOf(options.maximumWrites);
  const watches = new WatchBound(options.maximumWatches);
  const metrics = new Metrics({
    registry: options.registry,
    inflight: () => ({ readOnly: readOnlyQueue, mutating: mutatingQueue }),
    refused: () => ({
      readOnly: readOnlyQueue.refused,
      mutating: mutatingQueue.refused,
      watch: watches.refused,
    }),
    longRunning: options.openStreams,
    others: options.otherMetrics,
    audit: options.audit?.counts,
  });
  const metricsRoute: PathRoute = { methods: "any", handle: (request) => metrics.scrape(request) };
  const pathRoutes = withIndex(
    new Map([
      ...discoveryRoutes(options),
      ...healthRoutes({
        checks: options.healthChecks,
        onFailure: ({ check, error, failures }) =>
          options.log.error({ err: error, check, failures }, "health check failed"),
        onResult: addHealthMetrics(options.registry),
      }),
      ["/metrics", metricsRoute],
      ["/metrics/slis", { methods: "any", handle: (request) => metrics.scrape(request, isHealthMetric) }],
      ...openApiRoutes(options.api),
      ...options.pathRoutes,
      ...versionRoutes(options.api.version),
    ]),
  );
  const handler = createRequestChain({
    ...options,
    readOnlyQueue,
    mutatingQueue,
    watches,
    pathRoutes,
    servedResources: new ServedResources(options.definitions),
    onAnswered(answered) {
      metrics.observe(answered);
      options.onAnswered(answered);
    },
    audit: options.audit?.requests,
  });
  return { handler, metrics };
}

/** Up to four times as many requests may wait as run. */
const queueOf = (concurrency: number): FairQueue => new FairQueue({ concurrency, queueLength: concurrency * 4 });
