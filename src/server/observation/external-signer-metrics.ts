import { Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Clock } from "../../machinery/api/clock.ts";
import { addCollectedMetric, onlySample } from "../../machinery/http/collected-metric.ts";
import type { OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";
import { addTallyCounter, Tally } from "./tallies.ts";

interface ExternalSignerMetrics {
  readonly observer: Pick<OutsideKeyObserver, "onSignerCall" | "onSignerSigned" | "onKeysFetched">;
  addMetrics(registry: Registry): void;
}

/** Upper bounds in seconds, upstream's: 1 ms, doubled fourteen times. */
export const signerBuckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

/** Counts and times the calls of external signers of tokens, under upstream's names. */
export function externalSignerMetrics(clock: Clock): ExternalSignerMetrics {
  const prefix = "apiserver_externaljwt";
  const signed = new Tally("code");
  const fetched = new Tally("code");
  let fetchedSeconds: number | undefined;
  let keysDataSeconds: number | undefined;
  const calls = new Histogram({
    name: `${prefix}_request_duration_seconds`,
    help: "Duration of calls to the external signer of tokens.",
    labelNames: ["method", "code"],
    buckets: signerBuckets,
    registers: [],
  });
  return {
    observer: {
      onSignerCall: ({ seconds, ...labels }) => calls.observe(labels, seconds),
      onSignerSigned: (code) => signed.add({ code }),
      onKeysFetched(code, dataSeconds) {
        fetched.add({ code });
        if (code !== "OK") return;
        fetchedSeconds = clock.now() / 1000;
        if (dataSeconds !== undefined) keysDataSeconds = dataSeconds;
      },
    },
    addMetrics(registry) {
      registry.registerMetric(calls);
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
        read: () => onlySample(fetchedSeconds),
      });
      addCollectedMetric(registry, {
        type: "gauge",
        name: `${prefix}_fetch_keys_data_timestamp`,
        help: "When the external signer read the keys that it told last, as it says.",
        read: () => onlySample(keysDataSeconds),
      });
    },
  };
}
