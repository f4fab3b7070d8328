import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueCounts, WorkQueue } from "../../../src/machinery/loops/work-queue.ts";
import type { Schedule } from "../../../src/machinery/api/clock.ts";

/** Timers that fire when the test says so. */
function manualSchedule(): { schedule: Schedule; waits: () => number[]; fireAll: () => void } {
  const timers = new Map<symbol, { run: () => void; milliseconds: number }>();
  return {
    schedule(run, milliseconds) {
      const id = Symbol("timer");
      timers.set(id, { run, milliseconds });
      return () => timers.delete(id);
    },
    waits: () => [...timers.values()].map(({ milliseconds }) => milliseconds),
    fireAll() {
      const due = [...timers.values()];
      timers.clear();
      for (const { run } of due) run();
    },
  };
}

/** A promise that the test settles. */
const gate = () => Promise.withResolvers<void>();

test("a key that is added while it is being processed is processed once more, and never twice at once", async () => {
  const first = gate();
  let runs = 0;
  let concurrent = 0;
  const queue = new WorkQueue({
    async reconcile() {
      concurrent++;
      assert.equal(concurrent, 1);
      if (++runs === 1) await first.promise;
      concurrent--;
    },
    onError: (_, error) => assert.fail(String(error)),
  });
  for (let n = 0; n < 5; n++) queue.add("a");
  first.resolve();
  await queue.whenIdle();
  assert.equal(runs, 2);
});

test("no more keys are processed at once than the queue allows", async () => {
  const open = gate();
  let running = 0;
  let most = 0;
  const queue = new WorkQueue({
    concurrency: 2,
    async reconcile() {
      most = Math.max(most, ++running);
      if (running === 2) open.resolve();
      await open.promise;
      running--;
    },
    onError: (_, error) => assert.fail(String(error)),
  });
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  await queue.whenIdle();
  assert.equal(most, 2);
});

test("a key that is added while it is being processed comes after those that wait", async () => {
  const first = gate();
  const order: string[] = [];
  const queue = new WorkQueue({
    concurrency: 1,
    async reconcile(key) {
      order.push(key);
      await first.promise;
    },
    onError: (_, error) => assert.fail(String(error)),
  });
  for (const key of ["a", "a", "b", "c"]) queue.add(key);
  first.resolve();
  await queue.whenIdle();
  assert.deepEqual(order, ["a", "b", "c", "a"]);
});

test("a failure is reported and tried again, later each time, until it succeeds", async () => {
  const { schedule, waits, fireAll } = manualSchedule();
  const failures: unknown[] = [];
  const seenWaits: number[] = [];
  let runs = 0;
  const queue = new WorkQueue({
    schedule,
    async reconcile() {
      if (++runs <= 3) throw new Error(`failure ${runs}`);
    },
    onError: (_, error) => failures.push(error),
  });
  queue.add("a");
  for (let n = 0; n < 3; n++) {
    await queue.whenIdle();
    seenWaits.push(...waits());
    fireAll();
  }
  await queue.whenIdle();
  assert.equal(failures.length, 3);
  assert.deepEqual(seenWaits, [20, 40, 80]);
  assert.equal(runs, 4);
  assert.deepEqual(waits(), []);
});

test("a key that is scheduled twice is processed after the shorter delay", () => {
  const { schedule, waits } = manualSchedule();
  const queue = new WorkQueue({ schedule, reconcile: async () => {}, onError: () => {} });
  queue.addAfter("a", 500);
  queue.addAfter("a", 100);
  queue.addAfter("a", 900);
  assert.deepEqual(waits(), [100]);
});

test("a stopped queue finishes running items, drops waiting and delayed ones and accepts no more", async () => {
  const open = gate();
  const { schedule, waits } = manualSchedule();
  const done: string[] = [];
  const count = new QueueCounts().of("loop");
  const queue = new WorkQueue({
    concurrency: 1,
    schedule,
    count,
    async reconcile(key) {
      await open.promise;
      done.push(key);
    },
    onError: (_, error) => assert.fail(String(error)),
  });
  // The second time, the key is being processed.
  for (const key of ["a", "a", "b"]) queue.add(key);
  queue.addAfter("later", 100);
  let isStopped = false;
  const stopped = queue.stop().then(() => (isStopped = true));
  queue.add("c");
  queue.addAfter("c", 100);
  assert.deepEqual([waits(), count.depth], [[], 0]);
  await new Promise(setImmediate);
  assert.equal(isStopped, false);
  open.resolve();
  await stopped;
  assert.deepEqual(done, ["a"]);
});

test("a queue counts waiting, added and retried keys, and a later queue of the same name continues the counts", async () => {
  const counts = new QueueCounts();
  const count = counts.of("loop");
  const first = gate();
  const timers = manualSchedule();
  const queue = new WorkQueue({
    concurrency: 1,
    reconcile: async (key) => (key === "a" ? first.promise : Promise.reject(new Error("not yet"))),
    onError: () => {},
    schedule: timers.schedule,
    count,
  });
  for (const key of ["a", "b", "c", "c"]) queue.add(key);
  assert.deepEqual(count, { depth: 2, adds: 3, retries: 0 });
  first.resolve();
  await queue.whenIdle();
  assert.deepEqual(count, { depth: 0, adds: 3, retries: 2 });
  await queue.stop();
  new WorkQueue({ reconcile: async () => {}, onError: () => {}, count: counts.of("loop") }).add("d");
  assert.deepEqual([...counts.entries()], [["loop", { depth: 0, adds: 4, retries: 2 }]]);
});

test("a key without a delay is processed at once", async () => {
  const { schedule, waits } = manualSchedule();
  const worked: string[] = [];
  const queue = new WorkQueue({
    schedule,
    reconcile: async (key) => void worked.push(key),
    onError: (_, error) => assert.fail(String(error)),
  });
  queue.addAfter("now", 0);
  queue.addAfter("late", -1);
  queue.addAfter("later", 1);
  await queue.whenIdle();
  assert.deepEqual(worked, ["now", "late"]);
  assert.deepEqual(waits(), [1]);
});

test("a delay that is too long for a timer is cut to a day", () => {
  const { schedule, waits } = manualSchedule();
  const queue = new WorkQueue({ reconcile: () => Promise.resolve(), onError: () => assert.fail(), schedule });
  queue.addAfter("a", 400 * 24 * 3_600_000);
  assert.deepEqual(waits(), [24 * 3_600_000]);
});

test("long delays are rounded up to whole seconds, so that many keys share a timer's list, and short ones are exact", () => {
  const { schedule, waits } = manualSchedule();
  const queue = new WorkQueue({ reconcile: () => Promise.resolve(), onError: () => assert.fail(), schedule });
  queue.addAfter("exact", 60_000);
  queue.addAfter("rounded", 60_001);
  queue.addAfter("whole", 3_600_000);
  for (const key of ["a", "b", "c"]) queue.addAfter(key, 3_599_000 + Number.parseInt(key, 16));
  // The same second: the timer that waits already is early enough.
  queue.addAfter("a", 3_599_001);
  assert.deepEqual(waits(), [60_000, 61_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000]);
});

test("keys that add each other for ever leave the event loop free", async () => {
  const queue = new WorkQueue({
    reconcile: async (key) => queue.add(key === "a" ? "b" : "a"),
    onError: (_, error) => assert.fail(String(error)),
  });
  queue.add("a");
  // Without pauses, the loop would never come to this.
  await new Promise(setImmediate);
  await queue.stop();
});
