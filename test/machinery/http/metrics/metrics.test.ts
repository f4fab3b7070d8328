import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "prom-client";
import { addCollectedMetric, onlySample } from "../../../../src/machinery/http/metrics/collected-metric.ts";
import { Metrics } from "../../../../src/machinery/http/metrics/metrics.ts";
import type { MetricsOptions } from "../../../../src/machinery/http/metrics/metrics.ts";
import type { AnsweredRequest } from "../../../../src/machinery/http/request-lifecycle.ts";
import { requestInfo } from "../../../../src/machinery/http/request-info.ts";
import { turnsDuring, turnsOfTest } from "../../../turns-during.ts";

const none = { running: 0, waiting: 0 };
const request = { headers: {}, connection: { remoteAddress: "127.0.0.1", peerCertificates: [] } };

const metricsOf = (given: Partial<MetricsOptions>): Metrics =>
  new Metrics({
    registry: new Registry(),
    others: undefined,
    inflight: () => ({ readOnly: none, mutating: none }),
    refused: () => ({}),
    longRunning: () => 0,
    audit: undefined,
    ...given,
  });

describe("scrapes of the metrics", () => {
  it("take turns of the event loop when they come at once", async (t) => {
    const metrics = metricsOf({});
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each scrape takes as long as a turn
    const turnsSoFar = turnsOfTest(t);
    const turns: number[] = [];
    t.mock.method(metrics, "text", async () => {
      turns.push(turnsSoFar());
      return "";
    });
    await Promise.all([metrics.scrape(request), metrics.scrape(request), metrics.scrape(request)]);
    assert.equal(new Set(turns).size, 3);
  });

  it("are made in several turns of the event loop, of one process and of several", async (t) => {
    const other = `# TYPE one counter\n${"one 1\n".repeat(100)}`;
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes as long as a turn
    assert.ok((await turnsDuring(() => metricsOf({}).text())) >= 2);
    assert.ok((await turnsDuring(() => metricsOf({ others: async () => [other] }).scrape(request))) >= 100);
  });

  it("show of several processes the sum of a metric, or the largest or smallest value where the metric says so", async () => {
    const registry = new Registry();
    const gauge = { type: "gauge", help: "A test." } as const;
    addCollectedMetric(registry, { ...gauge, name: "added", read: () => onlySample(1) });
    addCollectedMetric(registry, { ...gauge, name: "newest", aggregator: "max", read: () => onlySample(1) });
    addCollectedMetric(registry, { ...gauge, name: "soonest", aggregator: "min", read: () => onlySample(1) });
    const names = ["added", "newest", "soonest", "process_start_time_seconds"];
    const other = names.map((name) => `# TYPE ${name} gauge\n${name} 9999999999\n`).join("");
    const metrics = metricsOf({ registry, others: async () => [other] });
    const { body } = await metrics.scrape(request);
    const lines = String(body).split("\n");
    assert.deepEqual(
      names.map((name) => lines.find((line) => line.startsWith(`${name} `))),
      ["added 10000000000", "newest 9999999999", "soonest 1", "process_start_time_seconds 9999999999"],
    );
  });
});

describe("the durations of requests", () => {
  const answered = ({
    target = "/api/v1/namespaces/ns/serviceaccounts/a",
    seconds = 0,
    queuedSeconds = 0,
  }): AnsweredRequest => {
    const [path = "", query = ""] = target.split("?");
    const sent = { ...request, method: "GET", path, query } as unknown as AnsweredRequest["request"]; // no other part is read
    return {
      auditId: "",
      request: sent,
      info: requestInfo(sent),
      authenticatedUser: undefined,
      user: undefined,
      decision: undefined,
      response: { status: 200, headers: {}, body: "" },
      isServed: true,
      seconds,
      queuedSeconds,
      traceId: undefined,
    };
  };
  const labels =
    'group="",version="v1",resource="serviceaccounts",subresource="",scope="resource",component="apiserver"';

  it("are counted without the time in a queue for service levels, in the bounds that rules for Kubernetes name", async () => {
    const metrics = metricsOf({});
    metrics.observe(answered({ seconds: 2.5, queuedSeconds: 2 }));
    metrics.observe(answered({ seconds: 20 }));
    const text = await metrics.text();
    const below = (metric: string, more: string, bound: string): string | undefined =>
      text.split(`${metric}_bucket{verb="GET",${more}${labels},le="${bound}"} `)[1]?.split("\n")[0];
    const objective = (bound: string): string | undefined => below("apiserver_request_sli_duration_seconds", "", bound);
    assert.deepEqual(["0.4", "0.6", "1", "5", "30", "+Inf"].map(objective), ["0", "1", "1", "1", "2", "2"]);
    const duration = (bound: string): string | undefined =>
      below("apiserver_request_duration_seconds", 'dry_run="",', bound);
    assert.deepEqual(["1", "2.5", "+Inf"].map(duration), ["0", "1", "2"]);
    assert.match(text, /^apiserver_request_sli_duration_seconds_sum\{.*\} 20\.5$/m);
  });

  it("are not counted for service levels when the request is a dry run", async () => {
    const metrics = metricsOf({});
    metrics.observe(answered({ target: "/api/v1/namespaces/ns/serviceaccounts/a?dryRun=All" }));
    const text = await metrics.text();
    assert.ok(text.includes(`apiserver_request_duration_seconds_count{verb="GET",dry_run="All",${labels}} 1`));
    assert.doesNotMatch(text, /^apiserver_request_sli_duration_seconds_/m);
  });
});
