import type { Registry } from "prom-client";
import { addCollectedMetric } from "../../machinery/http/metrics/collected-metric.ts";
import type { CollectedMetric } from "../../machinery/http/metrics/collected-metric.ts";
import type { QueueCount, QueueCounts } from "../../machinery/loops/work-queue.ts";

interface QueueMetric extends Pick<CollectedMetric<"name">, "type" | "name" | "help"> {
  readonly valueOf: (count: QueueCount) => number;
}

/** The metrics have the names that client-go gives them. */
const queueMetrics: readonly QueueMetric[] = [
  {
    type: "gauge",
    name: "workqueue_depth",
    help: "Keys that wait in the queue of a loop.",
    valueOf: ({ depth }) => depth,
  },
  {
    type: "counter",
    name: "workqueue_adds_total",
    help: "Keys that were added to the queue of a loop.",
    valueOf: ({ adds }) => adds,
  },
  {
    type: "counter",
    name: "workqueue_retries_total",
    help: "Keys that a loop tries again after a failure.",
    valueOf: ({ retries }) => retries,
  },
];

/** Adds the metrics of the loops' queues. */
export function addQueueMetrics(registry: Registry, queueCounts: QueueCounts): void {
  for (const { valueOf, ...metric } of queueMetrics) {
    addCollectedMetric(registry, {
      ...metric,
      labelNames: ["name"],
      *read() {
        for (const [name, count] of queueCounts.entries()) yield [{ name }, valueOf(count)];
      },
    });
  }
}
