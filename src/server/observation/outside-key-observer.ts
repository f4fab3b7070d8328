import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Clock } from "../../machinery/api/clock.ts";
import type { OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";
import { externalSignerObserver, signerBuckets } from "./external-signer-observer.ts";

/** Counts and times the signatures of keys outside the process. Those of external signers are also counted under upstream's names. */
export function outsideKeyObserver(registry: Registry, clock: Clock): OutsideKeyObserver {
  const labelNames = ["provider", "key", "outcome"] as const;
  const signatures = new Counter({
    name: "signet_outside_key_signatures_total",
    help: "Signatures that keys outside the process were asked for.",
    labelNames,
    registers: [registry],
  });
  const durations = new Histogram({
    name: "signet_outside_key_signature_duration_seconds",
    help: "Time until a key outside the process made a signature, or failed.",
    labelNames,
    buckets: signerBuckets,
    registers: [registry],
  });
  const usable = new Gauge({
    name: "signet_outside_key_usable",
    help: "1 when the last signature of a key outside the process was made, 0 when it failed.",
    aggregator: "min",
    labelNames: ["provider", "key"],
    registers: [registry],
  });
  const lastSigned = new Gauge({
    name: "signet_outside_key_last_signed_timestamp_seconds",
    help: "When a key outside the process made its last signature.",
    aggregator: "max",
    labelNames: ["provider", "key"],
    registers: [registry],
  });
  return {
    ...externalSignerObserver(registry, clock),
    onSignature({ provider, key, outcome, seconds }) {
      const labels = { provider, key, outcome };
      signatures.inc(labels);
      durations.observe(labels, seconds);
      usable.set({ provider, key }, Number(outcome === "signed"));
      if (outcome === "signed") lastSigned.set({ provider, key }, clock.now() / 1000);
    },
  };
}
