import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { QueueCount, QueueCounts } from "../../machinery/loops/work-queue.ts";

/** Adds what the queues of loops had to do, under the names that client-go gives these metrics. */
export function addQueueMetrics(registry: Registry, queueCounts: QueueCounts): void {
  const depth: Gauge<"name"> = new Gauge({
    name: "workqueue_depth",
    help: "Keys that wait in the queue of a loop.",
    labelNames: ["name"],
    registers: [registry],
    collect() {
      for (const [name, count] of queueCounts.entries()) depth.set({ name }, count.depth);
    },
  });
  const counter = (name: string, help: string, read: (count: QueueCount) => number): void => {
    const added: Counter<"name"> = new Counter({
      name,
      help,
      labelNames: ["name"],
      registers: [registry],
      collect() {
        added.reset();
        for (const [loop, count] of queueCounts.entries()) added.inc({ name: loop }, read(count));
      },
    });
  };
  counter("workqueue_adds_total", "Keys that were added to the queue of a loop.", ({ adds }) => adds);
  counter("workqueue_retries_total", "Keys that a loop tries again after a failure.", ({ retries }) => retries);
}
