import assert from "node:assert/strict";
import { it } from "node:test";
import { mergeMetrics } from "../../../../src/machinery/http/metrics/merge-metrics.ts";
import type { Aggregator } from "../../../../src/machinery/http/metrics/merge-metrics.ts";

const textOf = (values: Readonly<Record<string, number>>): string =>
  Object.entries(values)
    .map(([series, value]) => `# HELP ${nameOf(series)} Help.\n# TYPE ${nameOf(series)} gauge\n${series} ${value}\n`)
    .join("");
const nameOf = (series: string): string => series.split("{", 1)[0] ?? "";

it("metrics of several processes are added up, except those of which the largest or the smallest value counts", () => {
  const aggregators = new Map<string, Aggregator>([
    ["pending", "max"],
    ["usable", "min"],
  ]);
  const merged = mergeMetrics(
    [
      textOf({ 'requests_total{code="200"}': 3, 'pending{signer="a b"}': 2, 'usable{key="a"}': 1 }),
      textOf({
        'requests_total{code="200"}': 4,
        'requests_total{code="404"}': 1,
        'pending{signer="a b"}': 1,
        'usable{key="a"}': 0,
      }),
    ],
    (name) => aggregators.get(name) ?? "sum",
  );
  assert.deepEqual(
    merged.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
    ['requests_total{code="200"} 7', 'requests_total{code="404"} 1', 'pending{signer="a b"} 2', 'usable{key="a"} 0'],
  );
  assert.equal(merged.match(/# TYPE requests_total/g)?.length, 1);
});
