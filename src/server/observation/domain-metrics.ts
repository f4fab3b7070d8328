import { setTimeout as delay } from "node:timers/promises";
import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Clock } from "../../machinery/api/clock.ts";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import type { QueueCounts } from "../../machinery/loops/work-queue.ts";
import { followRegistry, readableObjects } from "../../machinery/registry/follow-registry.ts";
import type { ResourceRegistry } from "../../machinery/registry/resource-registry.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { certificateRequestState } from "../../features/certificates/requests/certificate-request-state.ts";
import { certificateSigningRequestResource, issuedCertificateResource } from "../../features/certificates/resources.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { countedBy } from "./tallies.ts";
import type { Tallies } from "./tallies.ts";
import { addQueueMetrics } from "./queue-metrics.ts";

export interface DomainMetricsOptions {
  readonly registry: Registry;
  readonly tallies: Tallies;
  readonly stores: Stores;
  readonly store: Store;
  readonly clock: Clock;
  signerLabel(signerName: string): string;
  /** Each certificate that the server cannot do without, by a name for people: its end in milliseconds since the epoch. */
  authorityEnds(): ReadonlyMap<string, number>;
  /** Undefined where the store's size is unknown. */
  storedBytes(): MaybeNumber | Promise<MaybeNumber>;
  readonly queueCounts: QueueCounts;
  /** The settings whose files cannot be used now. */
  unusableFiles(): Iterable<string>;
}

/** Adds what Signet is for to the metrics of the API server: certificates, tokens, logins, the store. */
export function addDomainMetrics(options: DomainMetricsOptions): void {
  addCounters(options);
  addCertificateGauges(options);
  addStorageGauges(options);
  addQueueMetrics(options.registry, options.queueCounts);
  addFileGauge(options);
}

function addCounters({ registry, tallies }: DomainMetricsOptions): void {
  const counter = countedBy(registry);
  counter("signet_certificates_issued_total", ["signer"], "Certificates issued.", tallies.issued);
  counter("signet_certificate_requests_denied_total", ["signer"], "Certificate requests denied.", tallies.denied);
  counter("signet_certificate_requests_failed_total", ["signer"], "Certificate requests failed.", tallies.failed);
  counter("signet_tokens_issued_total", [], "Tokens issued by TokenRequest.", tallies.tokensIssued);
  counter("signet_token_reviews_total", ["outcome"], "Tokens reviewed, by outcome.", tallies.tokenReviews);
  counter(
    "signet_authentications_total",
    ["method", "outcome"],
    "Requests with a credential, by the credential that decided and its outcome.",
    tallies.authentications,
  );
}

function addCertificateGauges(options: DomainMetricsOptions): void {
  const { registry, clock, signerLabel, authorityEnds } = options;
  const followed = new FollowedCertificates(options);
  const pending: Gauge<"signer"> = new Gauge({
    name: "signet_certificate_requests_pending",
    help: "Certificate requests that wait for an approval or for their signer.",
    labelNames: ["signer"],
    registers: [registry],
    collect() {
      pending.reset();
      for (const signerName of followed.waiting()) pending.inc({ signer: signerLabel(signerName) });
    },
  });
  const soonest: Gauge<"signer"> = new Gauge({
    name: "signet_certificate_soonest_expiry_seconds",
    help: "Seconds until the first of the recorded certificates of a signer ends that are valid now.",
    labelNames: ["signer"],
    registers: [registry],
    collect() {
      soonest.reset();
      const now = clock.now();
      const ends = new Map<string, number>();
      for (const { signerName, notAfter } of followed.issued()) {
        if (notAfter <= now) continue;
        const signer = signerLabel(signerName);
        ends.set(signer, Math.min(ends.get(signer) ?? Infinity, notAfter));
      }
      for (const [signer, end] of ends) soonest.set({ signer }, (end - now) / 1000);
    },
  });
  const authorities: Gauge<"certificate"> = new Gauge({
    name: "signet_authority_expiry_seconds",
    help: "Seconds until a certificate ends that the server needs: its CAs, and its own certificate. Negative after that.",
    labelNames: ["certificate"],
    registers: [registry],
    collect() {
      authorities.reset();
      for (const [certificate, end] of authorityEnds()) authorities.set({ certificate }, (end - clock.now()) / 1000);
    },
  });
}

/** Calls to an etcd that is away take seconds to fail, and the other metrics are needed most at that time. */
const storeAnswerMilliseconds = 500;

function addStorageGauges({ registry, store, storedBytes }: DomainMetricsOptions): void {
  const gauge = (name: string, help: string, read: () => MaybeNumber | Promise<MaybeNumber>): void => {
    const known = boundedQuestion(read, storeAnswerMilliseconds);
    const added: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        // Without an answer of the store, the other metrics are still served.
        const value = await known();
        if (value === undefined) added.remove();
        else added.set(value);
      },
    });
  };
  gauge("signet_storage_revision", "The newest revision of the store.", () => store.latestRevision());
  gauge("signet_storage_compacted_revision", "The newest revision that was compacted away.", () =>
    store.compactedRevision(),
  );
  gauge("signet_storage_size_bytes", "The size of the store's file, or of the etcd member's.", storedBytes);
}

function addFileGauge({ registry, unusableFiles }: DomainMetricsOptions): void {
  const files: Gauge<"setting"> = new Gauge({
    name: "signet_unusable_files",
    help: "1 for each setting whose file has changed and cannot be used: its last good contents are in use.",
    labelNames: ["setting"],
    registers: [registry],
    collect() {
      files.reset();
      for (const setting of unusableFiles()) files.set({ setting }, 1);
    },
  });
}

type MaybeNumber = number | undefined;

interface Issued {
  readonly signerName: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/** What the gauges need of requests and records. It follows them from the first look on: who does not look pays nothing. */
class FollowedCertificates {
  readonly #stores: Stores;
  readonly #waiting = new Map<string, string>();
  readonly #issued = new Map<string, Issued>();
  #isFollowing = false;

  constructor({ stores }: Pick<DomainMetricsOptions, "stores">) {
    this.#stores = stores;
  }

  /** The signers' names of requests that are neither answered nor refused. */
  waiting(): Iterable<string> {
    this.#follow();
    return this.#waiting.values();
  }

  issued(): Iterable<Issued> {
    this.#follow();
    return this.#issued.values();
  }

  #follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    const requests = this.#stores.of(certificateSigningRequestResource);
    mirror(requests, this.#waiting, (request) => {
      const state = certificateRequestState(request);
      return state === "pending" || state === "approved" ? request.spec.signerName : undefined;
    });
    const records = this.#stores.of(issuedCertificateResource);
    mirror(records, this.#issued, ({ spec }) => ({ signerName: spec.signerName, notAfter: Date.parse(spec.notAfter) }));
  }
}

/** Keeps what `project` makes of each object of a resource; undefined leaves it out. */
function mirror<T extends ApiObject, Value>(
  registry: ResourceRegistry<T>,
  values: Map<string, Value>,
  project: (object: T) => Value | undefined,
): void {
  const put = (key: string, object: T): void => {
    const value = project(object);
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  };
  followRegistry(registry, {
    onLoaded() {
      values.clear();
      for (const { key, object } of readableObjects(registry)) put(key, object);
    },
    onEvent(event) {
      if (event.type === "put") put(event.key, event.object.object);
      else values.delete(event.key);
    },
  });
}

/**
 * Asks, and waits a bounded time for the answer. Undefined: there was no answer, or none in time. While a question is open, it
 * is not asked again: the next caller waits for the same answer.
 */
export function boundedQuestion<T>(ask: () => T | Promise<T>, milliseconds: number): () => Promise<T | undefined> {
  let open: Promise<T | undefined> | undefined;
  return async () => {
    open ??= answerOf(ask).finally(() => (open = undefined));
    const timeout = new AbortController();
    const waited = delay(milliseconds, undefined, { signal: timeout.signal }).catch(() => undefined);
    try {
      return await Promise.race([open, waited]);
    } finally {
      timeout.abort();
    }
  };
}

async function answerOf<T>(ask: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
