import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WorkerWatchdog } from "../../../src/server/workers/worker-watchdog.ts";

interface FakeWorker {
  readonly name: string;
}

function scene() {
  const [busy, idle]: readonly [FakeWorker, FakeWorker] = [{ name: "busy" }, { name: "idle" }];
  const probed: string[] = [];
  const hanging: string[] = [];
  const watchdog = new WorkerWatchdog<FakeWorker>({
    probe: ({ name }) => void probed.push(name),
    onHanging: ({ name }) => void hanging.push(name),
  });
  return { busy, idle, probed, hanging, watchdog };
}

describe("the watchdog of workers", () => {
  it("finds a worker that answers none of six probes, and tells of it once", () => {
    const { busy, probed, hanging, watchdog } = scene();
    for (let round = 1; round <= 6; round++) watchdog.probeAll([busy]);
    assert.deepEqual([probed.length, hanging], [6, []]);
    watchdog.probeAll([busy]);
    assert.deepEqual([probed.length, hanging], [6, ["busy"]]);
    watchdog.probeAll([busy]);
    assert.deepEqual([probed.length, hanging], [6, ["busy"]]);
  });

  it("leaves a worker that answers only now and then", () => {
    const { busy, hanging, watchdog } = scene();
    for (let round = 1; round <= 60; round++) {
      watchdog.probeAll([busy]);
      if (round % 6 === 0) watchdog.answered(busy);
    }
    assert.deepEqual(hanging, []);
  });

  it("counts for each worker by itself, also for one that came later", () => {
    const { busy, idle, hanging, watchdog } = scene();
    for (let round = 1; round <= 7; round++) {
      watchdog.probeAll(round < 4 ? [busy] : [busy, idle]);
      watchdog.answered(idle);
    }
    assert.deepEqual(hanging, ["busy"]);
  });
});
