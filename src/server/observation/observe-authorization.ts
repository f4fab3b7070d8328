import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { AuthorizationObserver } from "../../features/authorization/feature.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { DecisionCount } from "../authorizers.ts";
import { countedBy, Tally } from "./tallies.ts";

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
      const count = countedBy(registry);
      const decided: Counter<"type" | "name" | "decision"> = new Counter({
        name: "apiserver_authorization_decisions_total",
        help: "Requests that an authorizer allowed or denied, by type and name.",
        labelNames: ["type", "name", "decision"],
        registers: [registry],
        collect() {
          decided.reset();
          for (const { type, name, allowed, denied } of decisions()) {
            if (allowed > 0) decided.inc({ type, name, decision: "allowed" }, allowed);
            if (denied > 0) decided.inc({ type, name, decision: "denied" }, denied);
          }
        },
      });
      registry.registerMetric(durations);
      const prefix = "apiserver_authorization";
      count(
        `${prefix}_webhook_evaluations_total`,
        ["name", "result"],
        "Questions to webhook authorizers.",
        evaluations,
      );
      count(
        `${prefix}_webhook_evaluations_fail_open_total`,
        ["name", "result"],
        "Requests that went on to the next authorizer because a webhook did not answer.",
        failedOpen,
      );
      count(
        `${prefix}_match_condition_exclusions_total`,
        ["type", "name"],
        "Requests that match conditions kept from a webhook.",
        excluded,
      );
      count(
        `${prefix}_match_condition_evaluation_errors_total`,
        ["type", "name"],
        "Requests for which a match condition could not be evaluated.",
        conditionErrors,
      );
      count(
        `${prefix}_config_controller_automatic_reloads_total`,
        ["status"],
        "How often --authorization-config was read again.",
        reloads,
      );
      const last: Gauge<"status"> = new Gauge({
        name: `${prefix}_config_controller_automatic_reload_last_timestamp_seconds`,
        help: "When --authorization-config was read again last.",
        labelNames: ["status"],
        registers: [registry],
        collect() {
          last.reset();
          for (const [status, seconds] of reloadedAt) last.set({ status }, seconds);
        },
      });
    },
  };
}
