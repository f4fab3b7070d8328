import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { EventQueue } from "../../../src/machinery/audit/event-queue.ts";
import type { EventQueueOptions } from "../../../src/machinery/audit/event-queue.ts";
import { ManualTime } from "../../manual-time.ts";

const received = { hasHappened: false };

describe("a queue of audit events", () => {
  let time: ManualTime;
  let delivered: string[][];
  let fail: boolean;
  let failures: number;
  let recovered: number[];
  beforeEach(() => {
    time = new ManualTime();
    delivered = [];
    fail = false;
    failures = 0;
    recovered = [];
  });

  const queueOf = (options: Partial<EventQueueOptions> = {}): EventQueue =>
    new EventQueue({
      target: {
        async deliver(lines) {
          if (fail) throw new Error("full");
          delivered.push([...lines]);
        },
        close: () => {},
      },
      schedule: time.schedule,
      monotonic: time.clock,
      maximumEvents: 10,
      batchEvents: 3,
      batchBytes: 1000,
      waitMilliseconds: 100,
      afterFailure: "drop",
      onFailure: () => failures++,
      onRecovered: (lost) => recovered.push(lost),
      ...options,
    });
  const add = (queue: EventQueue, ...lines: readonly string[]): void => {
    for (const line of lines) queue.add(line);
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  };

  it("delivers a batch when it is full or its first event has waited long enough", async () => {
    const queue = queueOf();
    add(queue, "a");
    await settle();
    assert.deepEqual(delivered, []);
    time.pass(100);
    await settle();
    add(queue, "b", "c", "d", "e");
    await settle();
    assert.deepEqual(delivered, [["a"], ["b", "c", "d"], ["e"]]);
  });

  it("limits the size of a batch in bytes", async () => {
    const queue = queueOf({ batchBytes: 5 });
    add(queue, "aa", "bb", "cccccccccc", "d");
    await settle();
    assert.deepEqual(delivered, [["aa", "bb"], ["cccccccccc"], ["d"]]);
  });

  it("drops and counts events that do not fit, and reports the count when it works again", async () => {
    const queue = queueOf({ afterFailure: "retry" });
    fail = true;
    const lines = Array.from({ length: 14 }, (_, index) => String(index));
    add(queue, ...lines);
    await settle();
    assert.deepEqual([queue.lost, delivered], [4, []]);
    fail = false;
    time.pass(1000);
    await settle();
    assert.deepEqual(delivered.flat(), lines.slice(0, 10));
    assert.deepEqual(recovered, [4]);
  });

  it("drops a batch that cannot be delivered, and continues with the next", async () => {
    const queue = queueOf();
    fail = true;
    add(queue, "a", "b", "c");
    await settle();
    fail = false;
    add(queue, "d", "e", "f");
    await settle();
    assert.deepEqual([queue.lost, failures, delivered, recovered], [3, 1, [["d", "e", "f"]], [3]]);
  });

  it("reports to waiting callers how the delivery ended, and delivers concurrent events together", async () => {
    const queue = queueOf({ afterFailure: "retry" });
    await Promise.all([queue.deliver("a", received), queue.deliver("b", received)]);
    assert.deepEqual(delivered, [["a", "b"]]);
    fail = true;
    await assert.rejects(queue.deliver("c", received), /full/);
    assert.equal(queue.lost, 1);
  });

  it("refuses after ten seconds what must be delivered, and delivers then only what is under way", async () => {
    const hanging = Promise.withResolvers<void>();
    const begun: string[] = [];
    const queue = queueOf({
      batchEvents: 1,
      target: { deliver: (lines) => (begun.push(...lines), hanging.promise), close: () => {} },
    });
    const refused = ["a", "b"].map((line) => assert.rejects(queue.deliver(line, received), /takes longer than 10 s/));
    await settle();
    time.pass(9_000);
    const later = queue.deliver("c", received);
    time.pass(1_000);
    await Promise.all(refused);
    assert.deepEqual([begun, queue.lost, failures], [["a"], 1, 2]);
    hanging.resolve();
    await later;
    assert.deepEqual([begun, recovered], [["a", "c"], [1]]);
  });

  it("keeps what has happened when nobody waits for it any more, and delivers it when the target works again", async () => {
    const hanging = Promise.withResolvers<void>();
    const begun: string[] = [];
    const queue = queueOf({
      batchEvents: 1,
      target: { deliver: (lines) => (begun.push(...lines), hanging.promise), close: () => {} },
    });
    const refused = ["a", "b"].map((line) => assert.rejects(queue.deliver(line, { hasHappened: true }), /longer/));
    await settle();
    time.pass(10_000);
    await Promise.all(refused);
    hanging.resolve();
    await settle();
    assert.deepEqual([begun, queue.lost], [["a", "b"], 0]);
  });

  it("releases its callers when a delivery fails or hangs, keeps the events, and lets callers wait again afterwards", async () => {
    const queue = queueOf({ afterFailure: "retry" });
    await queue.attempt("a");
    fail = true;
    await queue.attempt("b");
    assert.equal(queue.attempt("c"), undefined, "no caller waits for a disk that is full");
    fail = false;
    time.pass(1000);
    await settle();
    assert.deepEqual([delivered, queue.lost], [[["a"], ["b", "c"]], 0]);
    await queue.attempt("d");
    const hanging = Promise.withResolvers<void>();
    const slow = queueOf({ afterFailure: "retry", target: { deliver: () => hanging.promise, close: () => {} } });
    const waits = slow.attempt("e");
    await settle();
    time.pass(2000);
    await waits;
    assert.equal(slow.attempt("f"), undefined, "nor for one that hangs");
    hanging.resolve();
    await settle();
    await slow.attempt("g");
    assert.equal(slow.lost, 0);
  });

  it("lets no caller wait for a delivery that hangs, also when nobody waited for its events", async () => {
    for (const afterFailure of ["drop", "retry"] as const) {
      const hanging = Promise.withResolvers<void>();
      const queue = queueOf({
        afterFailure,
        batchEvents: 1,
        target: { deliver: () => hanging.promise, close: () => {} },
      });
      add(queue, "a");
      await settle();
      const waits = queue.attempt("b");
      time.pass(2000);
      await waits;
      assert.equal(queue.attempt("c"), undefined);
      hanging.resolve();
      await settle();
      await queue.attempt("d");
      assert.equal(queue.lost, 0);
    }
  });

  it("ends a delivery that hangs when it closes, where the target can", async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    const target = { deliver: () => promise, isInterruptible: true, close: () => reject(new Error("closed")) };
    const queue = queueOf({ target });
    add(queue, "a");
    assert.equal(await queue.close({ withinMilliseconds: 1 }), 1);
    await settle();
    assert.deepEqual([queue.lost, failures], [1, 0]);
  });

  it("limits how often it delivers", async () => {
    const queue = queueOf({ batchEvents: 1, throttle: { perSecond: 10, burst: 2 } });
    add(queue, "a", "b", "c", "d");
    await settle();
    assert.equal(delivered.length, 2);
    time.pass(100);
    await settle();
    assert.equal(delivered.length, 3);
    time.pass(100);
    await settle();
    assert.equal(delivered.length, 4);
  });

  it("delivers waiting events when it closes, within a time limit", async () => {
    const queue = queueOf();
    add(queue, "a", "b");
    assert.equal(await queue.close({ withinMilliseconds: 1000 }), 0);
    assert.deepEqual(delivered, [["a", "b"]]);
    const stuck = queueOf({ target: { deliver: () => new Promise(() => {}), close: () => {} } });
    const waiting = assert.rejects(stuck.deliver("c", received), /stops/);
    assert.equal(await stuck.close({ withinMilliseconds: 1 }), 1);
    await waiting;
    assert.equal(stuck.lost, 1);
  });
});
