import { Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { AuthorizationObserver } from "../../features/authorization/feature.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { addCollectedMetric } from "../../machinery/http/collected-metric.ts";
import type { DecisionCount } from "../authorizers.ts";
import { addTallyCounter, Tally } from "./tallies.ts";

export interface AuthorizationMetrics {
  readonly observer: AuthorizationObserver;
  addMetrics(registry: Registry, decisions: () => Iterable<DecisionCount>): void;
}

/** Counts what authorizers decide, what webhooks answer, and how often their configuration was read again. */
export function authorizationObserver(clock: Clock): AuthorizationMetrics {
  const evaluations = new Tally("name", "result");
  const failedOpen = new Tally("name", "result");
  const excluded = new Tally("type", "name");
  const conditionErrors = new Tally("type", "name");
  const reloads = new Tally("status");
  const reloadedAt = new Map<string, number>();
  const durations = new Histogram({
    name: "apiserver_authorization_webhook_duration_seconds",
    help: "Time until a webhook authorizer answered.",
    labelNames: ["name", "result"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [],
  });
  return {
    observer: {
      onEvaluated({ name, result, seconds }) {
        evaluations.add({ name, result });
        durations.observe({ name, result }, seconds);
      },
      onFailedOpen: (name) => failedOpen.add({ name, result: "error" }),
      onExcluded: (name) => excluded.add({ type: "Webhook", name }),
      onConditionError: (name) => conditionErrors.add({ type: "Webhook", name }),
      onReloaded(status) {
        reloads.add({ status });
        reloadedAt.set(status, clock.now() / 1000);
      },
    },
    addMetrics(registry, decisions) {
      addCollectedMetric(registry, {
        type: "counter",
        name: "apiserver_authorization_decisions_total",
        help: "Requests that an authorizer allowed or denied, by type and name.",
        labelNames: ["type", "name", "decision"],
        *read() {
          for (const { type, name, allowed, denied } of decisions()) {
            if (allowed > 0) yield [{ type, name, decision: "allowed" }, allowed];
            if (denied > 0) yield [{ type, name, decision: "denied" }, denied];
          }
        },
      });
      registry.registerMetric(durations);
      const prefix = "apiserver_authorization";
      addTallyCounter(registry, {
        name: `${prefix}_webhook_evaluations_total`,
        help: "Questions to webhook authorizers.",
        tally: evaluations,
      });
      addTallyCounter(registry, {
        name: `${prefix}_webhook_evaluations_fail_open_total`,
        help: "Requests that went on to the next authorizer because a webhook did not answer.",
        tally: failedOpen,
      });
      addTallyCounter(registry, {
        name: `${prefix}_match_condition_exclusions_total`,
        help: "Requests that match conditions kept from a webhook.",
        tally: excluded,
      });
      addTallyCounter(registry, {
        name: `${prefix}_match_condition_evaluation_errors_total`,
        help: "Requests for which a match condition could not be evaluated.",
        tally: conditionErrors,
      });
      addTallyCounter(registry, {
        name: `${prefix}_config_controller_automatic_reloads_total`,
        help: "How often --authorization-config was read again.",
        tally: reloads,
      });
      addCollectedMetric(registry, {
        type: "gauge",
        name: `${prefix}_config_controller_automatic_reload_last_timestamp_seconds`,
        help: "When --authorization-config was read again last.",
        labelNames: ["status"],
        *read() {
          for (const [status, seconds] of reloadedAt) yield [{ status }, seconds];
        },
      });
    },
  };
}
