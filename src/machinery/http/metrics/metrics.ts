import { collectDefaultMetrics } from "prom-client";
import type { Registry } from "prom-client";
import type { HttpRequest, HttpResponse } from "../../api/http-message.ts";
import { addCollectedMetric, onlySample } from "./collected-metric.ts";
import type { Sample } from "./collected-metric.ts";
import type { AnsweredRequest } from "../request-lifecycle.ts";
import { DurationHistogram } from "./duration-histogram.ts";
import { withoutExemplars } from "./exemplar.ts";
import { mergeMetricsInSteps } from "./merge-metrics.ts";
import type { Aggregator } from "./merge-metrics.ts";
import { LongWork } from "../../scheduling/long-work.ts";
import { requestTurnOfAddress } from "../../scheduling/request-turn.ts";
import { addressPath } from "../../scheduling/share-path.ts";
import { dryRunLabel, requestLabelNames, scopeLabel, verbLabel } from "./request-labels.ts";
import type { RequestLabel, RequestLabels } from "./request-labels.ts";
import type { ResourceRequestInfo } from "../request-info.ts";
import { typedText } from "../plain-text.ts";

/** Upper bounds in seconds. Finer than upstream's below 25 ms, where most answers are, and coarser above. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Upstream's bounds in seconds, because rules about service levels name single bounds. */
const objectiveBounds = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

/** The runtime's metrics of which the largest value is shown: they are the same in each process, or grow with a problem. */
const largestOfRuntime = /^(?:nodejs_(?:eventloop_lag|version_info)|process_(?:start_time|max_fds))/;

/** Counts requests with the same labels in plain numbers. prom-client reads them only on a scrape. */
interface Series {
  readonly labels: RequestLabels;
  readonly countByCode: Map<number, number>;
  readonly durations: DurationHistogram;
  /** Without the time in a queue. Undefined: a dry run, which no objective counts. */
  readonly objectives: DurationHistogram | undefined;
}

const newSeries = (labels: RequestLabels): Series => ({
  labels,
  countByCode: new Map(),
  durations: new DurationHistogram(durationBounds),
  objectives: labels.dry_run === "" ? new DurationHistogram(objectiveBounds) : undefined,
});

interface Inflight {
  readonly running: number;
  readonly waiting: number;
}

export interface AuditCounts {
  /** All events, including lost ones. */
  readonly events: number;
  /** Requests by the level that the policy gives them. */
  readonly requests: ReadonlyMap<string, number>;
  /** Lost events, by their destination. */
  readonly lost: readonly { readonly plugin: string; readonly events: number }[];
  /** Requests that were refused because they could not be recorded. */
  readonly rejected: number;
}

/** Takes the metrics of this process, and resolves with the metrics of the other processes, each as `text` gives them. */
export type ExchangeMetrics = (own: string) => Promise<readonly string[]>;

export interface MetricsOptions {
  /** The registry may have metrics already, and more can be added. */
  readonly registry: Registry;
  /** Sends this process's metrics to the other processes of this server, and gets theirs. Undefined: there are no other processes. */
  readonly others: ExchangeMetrics | undefined;
  readonly inflight: () => { readonly readOnly: Inflight; readonly mutating: Inflight };
  /** The requests that were refused so far with 429, by kind. */
  readonly refused: () => Readonly<Record<string, number>>;
  readonly longRunning: () => number;
  readonly audit: (() => AuditCounts) | undefined;
}

/** The server's own metrics in Prometheus' text format, with upstream's names. */
export class Metrics {
  readonly #registry: Registry;
  /** By group, version, resource and subresource. */
  readonly #series = new Map<string, Series[]>();

  readonly #others: ExchangeMetrics;

  constructor({ registry, inflight, refused, longRunning, audit, others = async () => [] }: MetricsOptions) {
    this.#registry = registry;
    this.#others = others;
    collectDefaultMetrics({ register: registry });
    addCollectedMetric(registry, {
      type: "counter",
      name: "apiserver_request_total",
      help: "Requests by verb, resource and status code.",
      labelNames: [...requestLabelNames, "code"],
      read: () => this.#answered(),
    });
    const byKind = (count: keyof Inflight) => (): readonly Sample<"request_kind">[] => {
      const { readOnly, mutating } = inflight();
      return [
        [{ request_kind: "readOnly" }, readOnly[count]],
        [{ request_kind: "mutating" }, mutating[count]],
      ];
    };
    addCollectedMetric(registry, {
      type: "gauge",
      name: "apiserver_current_inflight_requests",
      help: "Requests that run now, by kind.",
      labelNames: ["request_kind"],
      read: byKind("running"),
    });
    addCollectedMetric(registry, {
      type: "gauge",
      name: "apiserver_current_inqueue_requests",
      help: "Requests that wait for their turn, by kind.",
      labelNames: ["request_kind"],
      read: byKind("waiting"),
    });
    addCollectedMetric(registry, {
      type: "counter",
      name: "apiserver_request_terminations_total",
      help: "Requests that were refused with 429 because there were too many, by kind.",
      labelNames: ["request_kind"],
      read: () => Object.entries(refused()).map(([request_kind, count]) => [{ request_kind }, count] as const),
    });
    addCollectedMetric(registry, {
      type: "gauge",
      name: "apiserver_longrunning_requests",
      help: "Watches that are open now.",
      read: () => onlySample(longRunning()),
    });
    if (audit !== undefined) countAudit(registry, audit);
  }

  *#answered(): Generator<Sample<RequestLabel | "code">> {
    for (const { labels, countByCode } of [...this.#series.values()].flat()) {
      for (const [code, count] of countByCode) yield [{ ...labels, code: String(code) }, count];
    }
  }

  /** Counts a request. Labels come only from served resources, never from a caller's input. */
  observe({ info, isServed, request, response, seconds, queuedSeconds, traceId }: AnsweredRequest): void {
    const series = this.#seriesOf(request, isServed && info?.kind === "resource" ? info : undefined);
    series.countByCode.set(response.status, (series.countByCode.get(response.status) ?? 0) + 1);
    series.durations.observe(seconds, traceId);
    series.objectives?.observe(seconds - queuedSeconds);
  }

  /** The series of a request. Allocates only the key for each request: few series have the same key, so they are searched. */
  #seriesOf(request: HttpRequest, info: ResourceRequestInfo | undefined): Series {
    const verb = verbLabel(request, info);
    const dryRun = dryRunLabel(request, info);
    const scope = scopeLabel(info);
    const { group = "", version = "", resource = "", subresource = "" } = info ?? {};
    const key = `${group}/${version}/${resource}/${subresource}`;
    const known = this.#series.get(key);
    for (const series of known ?? []) {
      const { labels } = series;
      if (labels.verb === verb && labels.scope === scope && labels.dry_run === dryRun) return series;
    }
    const component = info === undefined ? "" : "apiserver";
    const series = newSeries({ verb, dry_run: dryRun, group, version, resource, subresource, scope, component });
    if (known === undefined) this.#series.set(key, [series]);
    else known.push(series);
    return series;
  }

  /** The metrics of this process, with exemplars where requests were exported as traces. */
  async text(): Promise<string> {
    let text = await this.#registry.metrics();
    await new LongWork().each(this.#histograms(), (lines) => (text += `${lines.join("\n")}\n`));
    return text;
  }

  /**
   * Answers with the metrics of all processes of this server together, or only with those whose names `isWanted` accepts. Only OpenMetrics
   * has exemplars.
   */
  async scrape(
    { headers, connection }: Pick<HttpRequest, "headers" | "connection">,
    isWanted?: (name: string) => boolean,
  ): Promise<HttpResponse> {
    await requestTurnOfAddress(addressPath(connection.remoteAddress));
    const own = await this.text();
    const others = await this.#others(own);
    const merging = { aggregatorOf: (name: string) => this.#aggregatorOf(name), isWanted };
    const text =
      others.length === 0 && isWanted === undefined
        ? own
        : await new LongWork().all(mergeMetricsInSteps([own, ...others], merging));
    const accept = String(headers["accept"] ?? "");
    if (accept.includes("openmetrics")) {
      const { openMetricsContentType, openMetricsText, prefersOpenMetrics } = await import("./open-metrics.ts");
      if (prefersOpenMetrics(accept)) return typedText(openMetricsText(text), openMetricsContentType);
    }
    return typedText(withoutExemplars(text), this.#registry.contentType);
  }

  /** How to aggregate a metric. All processes of a server have the same metrics, so the registry of this process has the answer. */
  #aggregatorOf(name: string): Aggregator {
    if (largestOfRuntime.test(name)) return "max";
    const metric: object | undefined = this.#registry.getSingleMetric(name);
    const aggregator = metric !== undefined && "aggregator" in metric ? metric.aggregator : undefined;
    return aggregator === "max" || aggregator === "min" ? aggregator : "sum";
  }

  /** Histograms keep their own counts in prom-client. These counts are kept here, so their text is written here too. */
  *#histograms(): Generator<readonly string[]> {
    const duration = "apiserver_request_duration_seconds";
    yield [`# HELP ${duration} Time to answer, by verb and resource.`, `# TYPE ${duration} histogram`];
    const series = [...this.#series.values()].flat();
    for (const { labels, durations } of series) yield durations.lines(duration, labels);
    const objective = "apiserver_request_sli_duration_seconds";
    yield [
      `# HELP ${objective} Time to answer without the time in a queue, by verb and resource, without dry runs.`,
      `# TYPE ${objective} histogram`,
    ];
    for (const { labels, objectives } of series) {
      const { dry_run: _, ...others } = labels;
      if (objectives !== undefined) yield objectives.lines(objective, others);
    }
  }
}

function countAudit(registry: Registry, audit: () => AuditCounts): void {
  addCollectedMetric(registry, {
    type: "counter",
    name: "apiserver_audit_event_total",
    help: "Audit events, lost ones included.",
    read: () => onlySample(audit().events),
  });
  addCollectedMetric(registry, {
    type: "counter",
    name: "apiserver_audit_level_total",
    help: "Requests by the level that the audit policy gives them.",
    labelNames: ["level"],
    *read() {
      for (const [level, count] of audit().requests) yield [{ level }, count];
    },
  });
  addCollectedMetric(registry, {
    type: "counter",
    name: "apiserver_audit_error_total",
    help: "Audit events that were lost because they could not be written.",
    labelNames: ["plugin"],
    *read() {
      for (const { plugin, events } of audit().lost) yield [{ plugin }, events];
    },
  });
  addCollectedMetric(registry, {
    type: "counter",
    name: "apiserver_audit_requests_rejected_total",
    help: "Requests that were refused because they could not be recorded.",
    read: () => onlySample(audit().rejected),
  });
}
