import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "prom-client";
import { addCollectedMetric, onlySample } from "../../../../src/machinery/http/metrics/collected-metric.ts";
import type { Sample } from "../../../../src/machinery/http/metrics/collected-metric.ts";

const lines = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));

describe("a metric that is collected at each scrape", () => {
  it("has the values of the last scrape, and adds up those with the same labels", async () => {
    const registry = new Registry();
    let samples: readonly Sample<"kind">[] = [
      [{ kind: "a" }, 1],
      [{ kind: "a" }, 2],
      [{ kind: "b" }, 5],
    ];
    for (const type of ["gauge", "counter"] as const) {
      addCollectedMetric(registry, {
        type,
        name: `${type}s`,
        help: "A test.",
        labelNames: ["kind"],
        read: () => samples,
      });
    }
    assert.deepEqual(await lines(registry), [
      'gauges{kind="a"} 3',
      'gauges{kind="b"} 5',
      'counters{kind="a"} 3',
      'counters{kind="b"} 5',
    ]);
    samples = [[{ kind: "b" }, 6]];
    assert.deepEqual(await lines(registry), ['gauges{kind="b"} 6', 'counters{kind="b"} 6']);
  });

  it("is left out as a gauge while its value is unknown, and is 0 as a counter", async () => {
    const registry = new Registry();
    let value: number | undefined;
    for (const type of ["gauge", "counter"] as const) {
      addCollectedMetric(registry, { type, name: `${type}s`, help: "A test.", read: async () => onlySample(value) });
    }
    assert.deepEqual(await lines(registry), ["counters 0"]);
    value = 7;
    assert.deepEqual(await lines(registry), ["gauges 7", "counters 7"]);
  });
});
