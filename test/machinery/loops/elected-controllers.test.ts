import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import type { Controller } from "../../../src/machinery/loops/controller.ts";
import { startElectedControllers } from "../../../src/machinery/loops/elected-controllers.ts";
import { ChangesLost } from "../../../src/machinery/loops/registry-informer.ts";
import { QueueCounts, WorkQueue } from "../../../src/machinery/loops/work-queue.ts";
import { resourceReferences } from "../../resource-references.ts";

const { configMaps, secrets } = resourceReferences(names);

describe("the loops of a process", () => {
  it("restart once when informers report lost changes", async () => {
    const client = new ApiClient({ send: () => assert.fail("nothing is sent"), close() {} });
    const failures: ((error: unknown) => void)[] = [];
    const logged: string[] = [];
    const log = { info: (_fields: object, text: string) => void logged.push(text), error: () => {} };
    let starts = 0;
    let restarted = Promise.withResolvers<void>();
    const loop: Controller = {
      name: "loop",
      start({ informers }) {
        starts += 1;
        restarted.resolve();
        informers.of(configMaps);
        informers.of(secrets);
        return { queue: new WorkQueue({ reconcile: async () => {}, onError: () => assert.fail() }) };
      },
    };
    const running = startElectedControllers({
      ...{ names, client, clock: { now: () => 0 }, log, controllers: [loop] },
      leases: client.resource(resourceReferences(names).leases, "default"),
      queueCounts: new QueueCounts(),
      isElected: false,
      openInformer(_type, onError) {
        failures.push(onError);
        return { get: () => undefined, *list() {}, addHandler() {}, start: async () => {} };
      },
    });
    assert.deepEqual([starts, failures.length], [1, 2]);
    restarted = Promise.withResolvers<void>();
    for (const fail of failures.splice(0)) fail(new ChangesLost(1));
    assert.equal(running.state(), "starting");
    await restarted.promise;
    assert.deepEqual([starts, failures.length], [2, 2]);
    for (let times = 0; times < 1000; times++) for (const fail of failures) fail(new Error("an object cannot be read"));
    assert.equal(logged.filter((line) => line.includes("an informer reports a failure")).length, 1, "within a minute");
    await running.stop();
    for (const fail of failures) fail(new ChangesLost(1));
    assert.deepEqual([starts, running.state()], [2, "standby"]);
  });
});
