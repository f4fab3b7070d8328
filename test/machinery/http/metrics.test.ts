import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Registry } from "prom-client";
import { Metrics } from "../../../src/machinery/http/metrics.ts";
import { turnsOfTest } from "../../turns-during.ts";

describe("scrapes of the metrics", () => {
  it("take turns of the event loop when they come at once", async (t) => {
    const none = { running: 0, waiting: 0 };
    const metrics = new Metrics({
      registry: new Registry(),
      others: undefined,
      inflight: () => ({ readOnly: none, mutating: none }),
      refused: () => ({}),
      longRunning: () => 0,
      audit: undefined,
    });
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each scrape takes as long as a turn
    const turnsSoFar = turnsOfTest(t);
    const turns: number[] = [];
    t.mock.method(metrics, "text", async () => {
      turns.push(turnsSoFar());
      return "";
    });
    const request = { headers: {}, connection: { remoteAddress: "127.0.0.1", peerCertificates: [] } };
    await Promise.all([metrics.scrape(request), metrics.scrape(request), metrics.scrape(request)]);
    assert.equal(new Set(turns).size, 3);
  });
});
