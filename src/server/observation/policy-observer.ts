import { Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { PolicyObserver } from "../../features/admission/feature.ts";
import { addTallyCounter, Tally } from "./tallies.ts";

const labelNames = ["policy", "policy_binding", "error_type", "enforcement_action"] as const;

export interface PolicyMetrics {
  readonly observer: PolicyObserver;
  addMetrics(registry: Registry): void;
}

/** Counts what admission policies decide, with upstream's metrics. The labels hold names of policies, which only those who may write policies choose. */
export function policyObserver(): PolicyMetrics {
  const checks = new Tally(...labelNames);
  const prefix = "apiserver_validating_admission_policy";
  const durations = new Histogram({
    name: `${prefix}_check_duration_seconds`,
    help: "Time that a policy took for a write that it did not simply allow.",
    labelNames,
    buckets: [0.0000005, 0.001, 0.01, 0.1, 1],
    registers: [],
  });
  return {
    observer: {
      onChecked({ policy, binding, error, action, seconds }) {
        const labels = { policy, policy_binding: binding, error_type: error, enforcement_action: action };
        checks.add(labels);
        durations.observe(labels, seconds);
      },
    },
    addMetrics(registry) {
      registry.registerMetric(durations);
      addTallyCounter(registry, {
        name: `${prefix}_check_total`,
        help: "Failed validations, by policy, binding, error and what was done: deny, warn, audit, or allow for an error.",
        tally: checks,
      });
    },
  };
}
