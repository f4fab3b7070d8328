import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { PolicyObserver } from "../../features/admission/feature.ts";

const labelNames = ["policy", "policy_binding", "error_type", "enforcement_action"] as const;

/**
 * Counts the decisions of admission policies, with upstream's metrics. The labels contain names of policies, which only users who may write
 * policies choose.
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
  return {
    onChecked({ policy, binding, error, action, seconds }) {
      const labels = { policy, policy_binding: binding, error_type: error, enforcement_action: action };
      checks.inc(labels);
      durations.observe(labels, seconds);
    },
  };
}
