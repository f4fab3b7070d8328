import type { Registry } from "prom-client";
import { addCollectedMetric } from "./collected-metric.ts";
import type { Sample } from "./collected-metric.ts";
import type { HealthCheckResult } from "../routes/health-routes.ts";

/** The metrics that `/metrics/slis` shows. */
export const isHealthMetric = (name: string): boolean => name.startsWith("kubernetes_healthcheck");

interface Results {
  readonly name: string;
  readonly type: string;
  hasPassed: boolean;
  success: number;
  error: number;
}

/**
 * Counts the results of health checks, with upstream's names. Only requested checks count, so the metrics are empty without probes.
 * Returns the function to call with each result.
 */
export function addHealthMetrics(registry: Registry): (result: HealthCheckResult) => void {
  const resultsOf = new Map<string, Results>();
  addCollectedMetric(registry, {
    type: "gauge",
    name: "kubernetes_healthcheck",
    help: "The last result of a health check: 1 when it passed.",
    labelNames: ["name", "type"],
    aggregator: "min",
    *read(): Generator<Sample<"name" | "type">> {
      for (const { name, type, hasPassed } of resultsOf.values()) yield [{ name, type }, Number(hasPassed)];
    },
  });
  addCollectedMetric(registry, {
    type: "counter",
    name: "kubernetes_healthchecks_total",
    help: "Results of health checks.",
    labelNames: ["name", "type", "status"],
    *read(): Generator<Sample<"name" | "type" | "status">> {
      for (const { name, type, success, error } of resultsOf.values()) {
        if (success > 0) yield [{ name, type, status: "success" }, success];
        if (error > 0) yield [{ name, type, status: "error" }, error];
      }
    },
  });
  return ({ check, endpoint, hasPassed }) => {
    const key = `${endpoint}/${check}`;
    const results = resultsOf.get(key) ?? { name: check, type: endpoint, hasPassed, success: 0, error: 0 };
    resultsOf.set(key, results);
    results.hasPassed = hasPassed;
    results[hasPassed ? "success" : "error"] += 1;
  };
}
