import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Schedule } from "../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import type { Controller } from "../../../src/machinery/loops/controller.ts";
import { startElectedControllers } from "../../../src/machinery/loops/elected-controllers.ts";
import { TooManyObjects } from "../../../src/machinery/loops/object-budget.ts";
import { ChangesLost } from "../../../src/machinery/loops/registry-informer.ts";
import { QueueCounts, WorkQueue } from "../../../src/machinery/loops/work-queue.ts";
import { resourceReferences } from "../../resource-references.ts";
import { atOnce } from "../../run-loop.ts";

const { configMaps, secrets } = resourceReferences(names);

describe("the loops of a process", () => {
  /** `firstList`: what the informers wait for. `work`: what the loop waits for, for its only object. */
  const startLoop = (
    schedule?: Schedule,
    {
      firstList = Promise.resolve(),
      work = Promise.resolve(),
    }: Partial<Record<"firstList" | "work", Promise<void>>> = {},
  ) => {
    const client = new ApiClient({ send: () => assert.fail("nothing is sent"), close() {} });
    const failures: ((error: unknown) => void)[] = [];
    const logged: string[] = [];
    const note = (_fields: object, text: string): void => void logged.push(text);
    const scene = { failures, logged, starts: 0, synced: 0, restarted: Promise.withResolvers<void>() };
    const loop: Controller = {
      name: "loop",
      start({ informers }) {
        scene.starts += 1;
        scene.restarted.resolve();
        informers.of(configMaps);
        informers.of(secrets);
        const queue = new WorkQueue({ reconcile: () => work, onError: () => assert.fail() });
        const onSynced = (): void => {
          scene.synced += 1;
          queue.add("object");
        };
        return { queue, onSynced };
      },
    };
    const running = startElectedControllers({
      ...{ names, client, clock: { now: () => 0 }, log: { info: note, error: note }, controllers: [loop] },
      ...(schedule !== undefined && { schedule }),
      leases: client.resource(resourceReferences(names).leases, "default"),
      queueCounts: new QueueCounts(),
      isElected: false,
      openInformer(_type, onError) {
        failures.push(onError);
        return { get: () => undefined, *list() {}, addHandler() {}, start: () => firstList };
      },
    });
    assert.deepEqual([scene.starts, failures.length], [1, 2]);
    scene.restarted = Promise.withResolvers<void>();
    return { scene, running };
  };

  it("run when the informers have their first lists, and have stopped when their work has ended", async () => {
    const firstList = Promise.withResolvers<void>();
    const work = Promise.withResolvers<void>();
    const { scene, running } = startLoop(undefined, { firstList: firstList.promise, work: work.promise });
    await nextTurn();
    assert.deepEqual([running.state(), scene.synced], ["starting", 0]);
    firstList.resolve();
    await nextTurn();
    assert.deepEqual([running.state(), scene.synced], ["running", 1]);
    let isStopped = false;
    const stopped = running.stop().then(() => (isStopped = true));
    await nextTurn();
    assert.deepEqual([running.state(), isStopped], ["standby", false]);
    work.resolve();
    await stopped;
  });

  it("restart only when their work has ended", async () => {
    const work = Promise.withResolvers<void>();
    const { scene, running } = startLoop(atOnce, { work: work.promise });
    await nextTurn();
    scene.failures[0]?.(new ChangesLost(1));
    await nextTurn();
    assert.deepEqual([running.state(), scene.starts], ["starting", 1]);
    work.resolve();
    await scene.restarted.promise;
    assert.equal(scene.starts, 2);
    await running.stop();
  });

  it("restart once when informers report lost changes", async () => {
    const { scene, running } = startLoop();
    const { failures, logged } = scene;
    for (const fail of failures.splice(0)) fail(new ChangesLost(1));
    assert.equal(running.state(), "starting");
    await scene.restarted.promise;
    assert.deepEqual([scene.starts, failures.length], [2, 2]);
    for (let times = 0; times < 1000; times++) for (const fail of failures) fail(new Error("an object cannot be read"));
    assert.equal(logged.filter((line) => line.includes("an informer reports a failure")).length, 1, "within a minute");
    await running.stop();
    for (const fail of failures) fail(new ChangesLost(1));
    assert.deepEqual([scene.starts, running.state()], [2, "standby"]);
  });

  it("restart after a minute when the memory for objects is full, and do not run until then", async () => {
    const waits: (readonly [callback: () => void, milliseconds: number])[] = [];
    const isScheduled = Promise.withResolvers<void>();
    const { scene, running } = startLoop((...wait) => {
      waits.push(wait);
      isScheduled.resolve();
      return () => {};
    });
    // The informers have no first list yet.
    scene.failures[0]?.(new TooManyObjects(1));
    await isScheduled.promise;
    assert.deepEqual([scene.starts, running.state(), waits[0]?.[1]], [1, "starting", 60_000]);
    assert.ok(scene.logged.includes("the loops stop for a minute"));
    waits[0]?.[0]();
    assert.equal(scene.starts, 2);
    await running.stop();
  });
});
