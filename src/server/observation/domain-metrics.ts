import type { Registry } from "prom-client";
import type { Clock } from "../../machinery/api/clock.ts";
import { addCollectedMetric, onlySample } from "../../machinery/http/metrics/collected-metric.ts";
import type { Sample } from "../../machinery/http/metrics/collected-metric.ts";
import type { QueueCounts } from "../../machinery/loops/work-queue.ts";
import type { StorageQuota } from "../../machinery/registry/storage-quota.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { waitAtMost } from "../../machinery/scheduling/wait-at-most.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { FollowedCertificates } from "./followed-certificates.ts";
import { addQueueMetrics } from "./queue-metrics.ts";

interface DomainMetricsOptions {
  readonly registry: Registry;
  readonly stores: Stores;
  readonly store: Store;
  readonly quota: StorageQuota | undefined;
  readonly clock: Clock;
  signerLabel(signerName: string): string;
  /** When each certificate expires that the server needs, in milliseconds since the epoch, by a name for people. */
  authorityEnds(): ReadonlyMap<string, number>;
  /** Undefined when the size of the store is unknown. */
  storedBytes(): MaybeNumber | Promise<MaybeNumber>;
  readonly queueCounts: QueueCounts;
  /** The settings whose files cannot be used at present. */
  unusableFiles(): Iterable<string>;
}

/** Adds the metrics of Signet's own domain to those of the API server: certificates, tokens, authentications, the store. */
export function addDomainMetrics(options: DomainMetricsOptions): void {
  addCertificateGauges(options);
  addStorageGauges(options);
  addQueueMetrics(options.registry, options.queueCounts);
  addFileGauge(options);
}

/**
 * The first count of very many certificates takes longer than this, and scrapers need the other metrics. It is less than
 * `answerMilliseconds`, after which other workers show a worker's older metrics.
 */
export const certificatesMilliseconds = 1500;

function addCertificateGauges(options: DomainMetricsOptions): void {
  const { registry, clock, authorityEnds } = options;
  const followed = new FollowedCertificates(options);
  const waiting = boundedQuestion(() => followed.waiting(), certificatesMilliseconds);
  const soonestEnds = boundedQuestion(() => followed.soonestEnds(clock.now()), certificatesMilliseconds);
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_certificate_requests_pending",
    help: "Certificate requests that wait for an approval or for their signer.",
    aggregator: "max",
    labelNames: ["signer"],
    read: async () => [...((await waiting()) ?? [])].map(([signer, count]) => [{ signer }, count]),
  });
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_certificate_soonest_expiry_seconds",
    help: "Seconds until the first of the recorded certificates of a signer ends that are valid now.",
    aggregator: "min",
    labelNames: ["signer"],
    read: async () =>
      [...((await soonestEnds()) ?? [])].map(([signer, end]) => [{ signer }, (end - clock.now()) / 1000]),
  });
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_authority_expiry_seconds",
    help: "Seconds until a certificate ends that the server needs: its CAs, and its own certificate. Negative after that.",
    aggregator: "min",
    labelNames: ["certificate"],
    *read() {
      for (const [certificate, end] of authorityEnds()) yield [{ certificate }, (end - clock.now()) / 1000];
    },
  });
}

/** Calls to an unreachable etcd take seconds to fail, which is when the other metrics are needed most. */
const storeAnswerMilliseconds = 500;

function addStorageGauges({ registry, store, quota, storedBytes }: DomainMetricsOptions): void {
  /** Waits for the store only for a limited time. Without its answer, the other metrics are still served. */
  const asked = (ask: () => MaybeNumber | Promise<MaybeNumber>): (() => Promise<Iterable<Sample<never>>>) => {
    const known = boundedQuestion(ask, storeAnswerMilliseconds);
    return async () => onlySample(await known());
  };
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_storage_revision",
    help: "The newest revision of the store.",
    aggregator: "max",
    read: asked(() => store.latestRevision()),
  });
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_storage_compacted_revision",
    help: "The newest revision that was compacted away.",
    aggregator: "max",
    read: asked(() => store.compactedRevision()),
  });
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_storage_size_bytes",
    help: "The size of the store's file, or of the etcd member's.",
    aggregator: "max",
    read: asked(storedBytes),
  });
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_namespace_largest_fullness_ratio",
    help: "What the fullest namespace or user has stored, as a part of what one may have. Above 1 where that was exceeded.",
    aggregator: "max",
    read: async () => onlySample(await quota?.largestFullness()),
  });
}

function addFileGauge({ registry, unusableFiles }: DomainMetricsOptions): void {
  addCollectedMetric(registry, {
    type: "gauge",
    name: "signet_unusable_files",
    help: "1 for each setting whose file has changed and cannot be used: its last good contents are in use.",
    aggregator: "max",
    labelNames: ["setting"],
    *read() {
      for (const setting of new Set(unusableFiles())) yield [{ setting }, 1];
    },
  });
}

type MaybeNumber = number | undefined;

/**
 * Returns a function that calls `ask` and waits for the answer for a limited time. Undefined: there was no answer, or none in time. While a
 * call of `ask` has not ended, it is not called again: the next caller waits for the same answer.
 */
export function boundedQuestion<T>(ask: () => T | Promise<T>, milliseconds: number): () => Promise<T | undefined> {
  let open: Promise<T | undefined> | undefined;
  return async () => {
    open ??= answerOf(ask).finally(() => (open = undefined));
    return await waitAtMost(milliseconds, open);
  };
}

async function answerOf<T>(ask: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
