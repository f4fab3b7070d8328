import assert from "node:assert/strict";
import { it } from "node:test";
import { mergeMetrics } from "../../../src/machinery/http/merge-metrics.ts";

const textOf = (values: Readonly<Record<string, number>>): string =>
  Object.entries(values)
    .map(([series, value]) => `# HELP ${nameOf(series)} Help.\n# TYPE ${nameOf(series)} gauge\n${series} ${value}\n`)
    .join("");
const nameOf = (series: string): string => series.split("{", 1)[0] ?? "";

it("metrics of several processes are added up, except those that are the same in each, or of which the worst counts", () => {
  const merged = mergeMetrics([
    textOf({
      'requests_total{code="200"}': 3,
      'signet_certificate_requests_pending{signer="a b"}': 2,
      signet_namespace_largest_fullness_ratio: 0.5,
      nodejs_eventloop_lag_p99_seconds: 0.5,
      'signet_certificate_soonest_expiry_seconds{signer="x"}': 10,
      'signet_outside_key_usable{key="a"}': 1,
      'signet_outside_key_last_signed_timestamp_seconds{key="a"}': 100,
      apiserver_externaljwt_fetch_keys_success_timestamp: 90,
    }),
    textOf({
      'requests_total{code="200"}': 4,
      'requests_total{code="404"}': 1,
      'signet_certificate_requests_pending{signer="a b"}': 2,
      signet_namespace_largest_fullness_ratio: 0.5,
      nodejs_eventloop_lag_p99_seconds: 0.1,
      'signet_certificate_soonest_expiry_seconds{signer="x"}': 9,
      'signet_outside_key_usable{key="a"}': 0,
      'signet_outside_key_last_signed_timestamp_seconds{key="a"}': 99,
      apiserver_externaljwt_fetch_keys_success_timestamp: 91,
    }),
  ]);
  assert.deepEqual(
    merged.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
    [
      'requests_total{code="200"} 7',
      'requests_total{code="404"} 1',
      'signet_certificate_requests_pending{signer="a b"} 2',
      "signet_namespace_largest_fullness_ratio 0.5",
      "nodejs_eventloop_lag_p99_seconds 0.5",
      'signet_certificate_soonest_expiry_seconds{signer="x"} 9',
      'signet_outside_key_usable{key="a"} 0',
      'signet_outside_key_last_signed_timestamp_seconds{key="a"} 100',
      "apiserver_externaljwt_fetch_keys_success_timestamp 91",
    ],
  );
  assert.equal(merged.match(/# TYPE requests_total/g)?.length, 1);
});
