import assert from "node:assert/strict";
import { it } from "node:test";
import pino from "pino";
import { monotonicClock } from "../../../src/machinery/api/clock.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import { observeServer } from "../../../src/server/observation/observe-server.ts";

it("of several workers, each metric that tells a time shows the newest one, and never the sum of their times", async () => {
  const { registry } = observeServer({
    names: namesFor("platform"),
    log: pino({ level: "silent" }),
    clock: monotonicClock,
    configuredSigners: () => [],
  });
  const times = (await registry.getMetricsAsJSON()).filter(({ name }) => name.includes("timestamp"));
  assert.ok(times.length >= 4, `${times.length} metrics tell a time`);
  assert.deepEqual(
    times.filter(({ aggregator }) => aggregator !== "max").map(({ name }) => name),
    [],
  );
});
