import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "prom-client";
import { addCollectedMetric, onlySample } from "../../../src/machinery/http/collected-metric.ts";
import { Metrics } from "../../../src/machinery/http/metrics.ts";
import type { MetricsOptions } from "../../../src/machinery/http/metrics.ts";
import { turnsOfTest } from "../../turns-during.ts";

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
