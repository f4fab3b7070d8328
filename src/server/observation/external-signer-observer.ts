import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Clock } from "../../machinery/api/clock.ts";
import { addCollectedMetric, onlySample } from "../../machinery/http/metrics/collected-metric.ts";
import type { OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";

/** The upper bounds of the buckets in seconds, as upstream: 1 ms, doubled fourteen times. */
export const signerBuckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

/** Counts and times the calls of external token signers, under upstream's names. */
export function externalSignerObserver(
  registry: Registry,
  clock: Clock,
): Pick<OutsideKeyObserver, "onSignerCall" | "onSignerSigned" | "onKeysFetched"> {
  const prefix = "apiserver_externaljwt";
  const signed = new Counter({
    name: `${prefix}_sign_request_total`,
    help: "Requests to the external signer for a signature.",
    labelNames: ["code"],
    registers: [registry],
  });
  const fetched = new Counter({
    name: `${prefix}_fetch_keys_request_total`,
    help: "Requests to the external signer for its keys.",
    labelNames: ["code"],
    registers: [registry],
  });
  let fetchedSeconds: number | undefined;
  let keysDataSeconds: number | undefined;
  const calls = new Histogram({
    name: `${prefix}_request_duration_seconds`,
    help: "Duration of calls to the external signer of tokens.",
    labelNames: ["method", "code"],
    buckets: signerBuckets,
    registers: [registry],
  });
  addCollectedMetric(registry, {
    type: "gauge",
    name: `${prefix}_fetch_keys_success_timestamp`,
    help: "When the external signer last told its keys.",
    aggregator: "max",
    read: () => onlySample(fetchedSeconds),
  });
  addCollectedMetric(registry, {
    type: "gauge",
    name: `${prefix}_fetch_keys_data_timestamp`,
    help: "When the external signer read the keys that it told last, as it says.",
    aggregator: "max",
    read: () => onlySample(keysDataSeconds),
  });
  return {
    onSignerCall: ({ seconds, ...labels }) => calls.observe(labels, seconds),
    onSignerSigned: (code) => signed.inc({ code }),
    onKeysFetched(code, dataSeconds) {
      fetched.inc({ code });
      if (code !== "OK") return;
      fetchedSeconds = clock.now() / 1000;
      if (dataSeconds !== undefined) keysDataSeconds = dataSeconds;
    },
  };
}
