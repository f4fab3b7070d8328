import { Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Clock } from "../../machinery/api/clock.ts";
import { addCollectedMetric, onlySample } from "../../machinery/http/collected-metric.ts";
import type { OutsideKey, OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";
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

/** Upstream's buckets: 1 ms, doubled fourteen times. */
const buckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

/** Counts and times the signatures of keys outside the process; and external signers' calls under upstream's names. */
export function outsideKeyObserver(clock: Clock): OutsideKeyMetrics {
  const signatures = new Tally("provider", "key", "outcome");
  const signed = new Tally("code");
  const fetched = new Tally("code");
  const keys = new Map<string, KnownKey>();
  const times: { fetchedSeconds?: number; dataSeconds?: number } = {};
  const durations = new Histogram({
    name: "signet_outside_key_signature_duration_seconds",
    help: "Time until a key outside the process made a signature, or failed.",
    labelNames: ["provider", "key", "outcome"],
    buckets,
    registers: [],
  });
  const calls = new Histogram({
    name: "apiserver_externaljwt_request_duration_seconds",
    help: "Duration of calls to the external signer of tokens.",
    labelNames: ["method", "code"],
    buckets,
    registers: [],
  });
  return {
    observer: {
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
      onSignerCall: ({ seconds, ...labels }) => calls.observe(labels, seconds),
      onSignerSigned: (code) => signed.add({ code }),
      onKeysFetched(code, dataSeconds) {
        fetched.add({ code });
        if (code !== "OK") return;
        times.fetchedSeconds = clock.now() / 1000;
        if (dataSeconds !== undefined) times.dataSeconds = dataSeconds;
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
      registry.registerMetric(calls);
      const prefix = "apiserver_externaljwt";
      addTallyCounter(registry, {
        name: `${prefix}_sign_request_total`,
        help: "Requests to the external signer for a signature.",
        tally: signed,
      });
      addTallyCounter(registry, {
        name: `${prefix}_fetch_keys_request_total`,
        help: "Requests to the external signer for its keys.",
        tally: fetched,
      });
      addCollectedMetric(registry, {
        type: "gauge",
        name: `${prefix}_fetch_keys_success_timestamp`,
        help: "When the external signer last told its keys.",
        read: () => onlySample(times.fetchedSeconds),
      });
      addCollectedMetric(registry, {
        type: "gauge",
        name: `${prefix}_fetch_keys_data_timestamp`,
        help: "When the external signer read the keys that it told last, as it says.",
        read: () => onlySample(times.dataSeconds),
      });
    },
  };
}
