import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import { RecentlyUsed } from "../../machinery/api/recently-used.ts";
import type { PolicyObserver } from "../../features/admission/feature.ts";

const labelNames = ["policy", "policy_binding", "error_type", "enforcement_action"] as const;

/**
 * The most series of a metric. The labels contain names of policies and bindings, so policies that come and go would add series without
 * end.
 */
const maximumSeries = 500;

/**
 * Counts the decisions of admission policies, with upstream's metrics. Beyond the limit, drops the series that have not changed for the
 * longest time.
 */
export function policyObserver(registry: Registry): PolicyObserver {
  const prefix = "apiserver_validating_admission_policy";
  const checks = new Counter({
    name: `${prefix}_check_total`,
    help: "Failed validations, by policy, binding, error and what was done: deny, warn, audit, or allow for an error.",
    labelNames,
    registers: [registry],
  });
  const durations = new Histogram({
    name: `${prefix}_check_duration_seconds`,
    help: "Time that a policy took for a write that it did not simply allow.",
    labelNames,
    buckets: [0.0000005, 0.001, 0.01, 0.1, 1],
    registers: [registry],
  });
  const series = new RecentlyUsed<Record<(typeof labelNames)[number], string>>({
    maximumEntries: maximumSeries,
    onDropped(labels) {
      checks.remove(labels);
      durations.remove(labels);
    },
  });
  return {
    onChecked({ policy, binding, error, action, seconds }) {
      const labels = { policy, policy_binding: binding, error_type: error, enforcement_action: action };
      series.set([policy, binding, error, action].join("/"), labels);
      checks.inc(labels);
      durations.observe(labels, seconds);
    },
  };
}
