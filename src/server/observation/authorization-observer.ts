import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { AuthorizationObserver } from "../../features/authorization/feature.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { addCollectedMetric } from "../../machinery/http/metrics/collected-metric.ts";
import type { DecisionCount } from "../authorizers.ts";

const prefix = "apiserver_authorization";

/** Counts the decisions of authorizers, the answers of webhooks, and the reloads of their configuration. */
export function authorizationObserver(registry: Registry, clock: Clock): AuthorizationObserver {
  const evaluations = new Counter({
    name: `${prefix}_webhook_evaluations_total`,
    help: "Questions to webhook authorizers.",
    labelNames: ["name", "result"],
    registers: [registry],
  });
  const failedOpen = new Counter({
    name: `${prefix}_webhook_evaluations_fail_open_total`,
    help: "Requests that went on to the next authorizer because a webhook did not answer.",
    labelNames: ["name", "result"],
    registers: [registry],
  });
  const excluded = new Counter({
    name: `${prefix}_match_condition_exclusions_total`,
    help: "Requests that match conditions kept from a webhook.",
    labelNames: ["type", "name"],
    registers: [registry],
  });
  const conditionErrors = new Counter({
    name: `${prefix}_match_condition_evaluation_errors_total`,
    help: "Requests for which a match condition could not be evaluated.",
    labelNames: ["type", "name"],
    registers: [registry],
  });
  const reloads = new Counter({
    name: `${prefix}_config_controller_automatic_reloads_total`,
    help: "How often --authorization-config was read again.",
    labelNames: ["status"],
    registers: [registry],
  });
  const reloadedAt = new Gauge({
    name: `${prefix}_config_controller_automatic_reload_last_timestamp_seconds`,
    help: "When --authorization-config was read again last.",
    aggregator: "max",
    labelNames: ["status"],
    registers: [registry],
  });
  const durations = new Histogram({
    name: `${prefix}_webhook_duration_seconds`,
    help: "Time until a webhook authorizer answered.",
    labelNames: ["name", "result"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  return {
    onEvaluated({ name, result, seconds }) {
      evaluations.inc({ name, result });
      durations.observe({ name, result }, seconds);
    },
    onFailedOpen: (name) => failedOpen.inc({ name, result: "error" }),
    onExcluded: (name) => excluded.inc({ type: "Webhook", name }),
    onConditionError: (name) => conditionErrors.inc({ type: "Webhook", name }),
    onReloaded(status) {
      reloads.inc({ status });
      reloadedAt.set({ status }, clock.now() / 1000);
    },
  };
}

/** Adds a metric of the decisions that the authorizers count themselves. */
export function addDecisionCounter(registry: Registry, decisions: () => Iterable<DecisionCount>): void {
  addCollectedMetric(registry, {
    type: "counter",
    name: `${prefix}_decisions_total`,
    help: "Requests that an authorizer allowed or denied, by type and name.",
    labelNames: ["type", "name", "decision"],
    *read() {
      for (const { type, name, allowed, denied } of decisions()) {
        if (allowed > 0) yield [{ type, name, decision: "allowed" }, allowed];
        if (denied > 0) yield [{ type, name, decision: "denied" }, denied];
      }
    },
  });
}
