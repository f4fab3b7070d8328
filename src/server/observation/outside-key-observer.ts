import { Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Clock } from "../../machinery/api/clock.ts";
import { addCollectedMetric } from "../../machinery/http/collected-metric.ts";
import type { OutsideKey, OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";
import { externalSignerMetrics, signerBuckets } from "./external-signer-metrics.ts";
import { addTallyCounter, Tally } from "./tallies.ts";

export interface OutsideKeyMetrics {
  readonly observer: OutsideKeyObserver;
  addMetrics(registry: Registry): void;
}

interface KnownKey extends OutsideKey {
  isUsable: boolean;
  /** In seconds since the epoch. */
  lastSignedSeconds?: number;
}

/** Counts and times the signatures of keys outside the process. Those of external signers are also counted as upstream does. */
export function outsideKeyObserver(clock: Clock): OutsideKeyMetrics {
  const signatures = new Tally("provider", "key", "outcome");
  const signers = externalSignerMetrics(clock);
  const keys = new Map<string, KnownKey>();
  const durations = new Histogram({
    name: "signet_outside_key_signature_duration_seconds",
    help: "Time until a key outside the process made a signature, or failed.",
    labelNames: ["provider", "key", "outcome"],
    buckets: signerBuckets,
    registers: [],
  });
  return {
    observer: {
      ...signers.observer,
      onSignature({ provider, key, outcome, seconds }) {
        const labels = { provider, key, outcome };
        signatures.add(labels);
        durations.observe(labels, seconds);
        const id = `${provider} ${key}`;
        const known: KnownKey = keys.get(id) ?? { provider, key, isUsable: false };
        keys.set(id, known);
        known.isUsable = outcome === "signed";
        if (known.isUsable) known.lastSignedSeconds = clock.now() / 1000;
      },
    },
    addMetrics(registry) {
      addTallyCounter(registry, {
        name: "signet_outside_key_signatures_total",
        help: "Signatures that keys outside the process were asked for.",
        tally: signatures,
      });
      registry.registerMetric(durations);
      addCollectedMetric(registry, {
        type: "gauge",
        name: "signet_outside_key_usable",
        help: "1 when the last signature of a key outside the process was made, 0 when it failed.",
        labelNames: ["provider", "key"],
        *read() {
          for (const { provider, key, isUsable } of keys.values()) yield [{ provider, key }, Number(isUsable)];
        },
      });
      addCollectedMetric(registry, {
        type: "gauge",
        name: "signet_outside_key_last_signed_timestamp_seconds",
        help: "When a key outside the process made its last signature.",
        labelNames: ["provider", "key"],
        *read() {
          for (const { provider, key, lastSignedSeconds } of keys.values()) {
            if (lastSignedSeconds !== undefined) yield [{ provider, key }, lastSignedSeconds];
          }
        },
      });
      signers.addMetrics(registry);
    },
  };
}
