import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { HttpResponse } from "../api/http-message.ts";
import { plainText } from "./response.ts";

/** Upper bounds in seconds (upstream's, thinned). */
const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A finished request. Every word is from a bounded set: the chain gives only known verbs and resources. */
export interface MeasuredRequest {
  readonly verb: string;
  /** "" for paths outside the API and for resources that are not served. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly code: number;
  readonly seconds: number;
}

/** Requests of one kind, counted in plain numbers; prom-client sees them on a scrape only. */
interface Series {
  readonly labels: Record<string, string>;
  readonly countByCode: Map<number, number>;
  readonly buckets: number[];
  sumSeconds: number;
  count: number;
}

export interface Inflight {
  readonly running: number;
  readonly waiting: number;
}

export interface MetricsOptions {
  readonly inflight: () => { readonly readOnly: Inflight; readonly mutating: Inflight };
  readonly longRunning: () => number;
}

/** The server's own numbers in Prometheus' text format, under upstream's names. */
export class Metrics {
  readonly registry = new Registry();
  readonly #series = new Map<string, Series>();

  constructor({ inflight, longRunning }: MetricsOptions) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    const labelNames = ["verb", "group", "version", "resource", "subresource"];
    const requests = new Counter({
      name: "apiserver_request_total",
      help: "Requests by verb, resource and status code.",
      labelNames: [...labelNames, "code"],
      registers,
      collect: () => {
        requests.reset();
        for (const { labels, countByCode } of this.#series.values()) {
          for (const [code, count] of countByCode) requests.inc({ ...labels, code: String(code) }, count);
        }
      },
    });
    const current = new Gauge({
      name: "apiserver_current_inflight_requests",
      help: "Requests that run now, by kind.",
      labelNames: ["request_kind"],
      registers,
      collect: () => {
        const { readOnly, mutating } = inflight();
        current.set({ request_kind: "readOnly" }, readOnly.running);
        current.set({ request_kind: "mutating" }, mutating.running);
      },
    });
    const queued = new Gauge({
      name: "apiserver_current_inqueue_requests",
      help: "Requests that wait for their turn, by kind.",
      labelNames: ["request_kind"],
      registers,
      collect: () => {
        const { readOnly, mutating } = inflight();
        queued.set({ request_kind: "readOnly" }, readOnly.waiting);
        queued.set({ request_kind: "mutating" }, mutating.waiting);
      },
    });
    const watches: Gauge = new Gauge({
      name: "apiserver_longrunning_requests",
      help: "Watches that are open now.",
      registers,
      collect: () => {
        watches.set(longRunning());
      },
    });
  }

  observe(request: MeasuredRequest): void {
    const key = `${request.verb} ${request.group}/${request.version}/${request.resource}/${request.subresource}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      const { verb, group, version, resource, subresource } = request;
      series = {
        labels: { verb, group, version, resource, subresource },
        countByCode: new Map(),
        buckets: durationBuckets.map(() => 0),
        sumSeconds: 0,
        count: 0,
      };
      this.#series.set(key, series);
    }
    series.countByCode.set(request.code, (series.countByCode.get(request.code) ?? 0) + 1);
    series.sumSeconds += request.seconds;
    series.count++;
    const bucket = durationBuckets.findIndex((bound) => request.seconds <= bound);
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
  }

  async scrape(): Promise<HttpResponse> {
    const text = `${await this.registry.metrics()}${this.#durations()}`;
    const response = plainText(200, text);
    response.headers["content-type"] = this.registry.contentType;
    return response;
  }

  /** Histograms keep their own counts in prom-client; these are kept here, so the text is written here too. */
  #durations(): string {
    const name = "apiserver_request_duration_seconds";
    const lines = [`# HELP ${name} Time to answer, by verb and resource.`, `# TYPE ${name} histogram`];
    for (const { labels, buckets, sumSeconds, count } of this.#series.values()) {
      const words = Object.entries(labels)
        .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
        .join(",");
      let below = 0;
      for (const [index, bound] of durationBuckets.entries()) {
        below += buckets[index] ?? 0;
        lines.push(`${name}_bucket{${words},le="${bound}"} ${below}`);
      }
      lines.push(
        `${name}_bucket{${words},le="+Inf"} ${count}`,
        `${name}_sum{${words}} ${sumSeconds}`,
        `${name}_count{${words}} ${count}`,
      );
    }
    return `${lines.join("\n")}\n`;
  }
}
