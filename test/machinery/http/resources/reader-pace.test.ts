import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReaderPace } from "../../../../src/machinery/http/resources/reader-pace.ts";

/** Timers that a test lets run. */
class Timers {
  readonly due: (() => void)[] = [];

  readonly schedule = (callback: () => void): (() => void) => {
    this.due.push(callback);
    return () => {
      const index = this.due.indexOf(callback);
      if (index >= 0) this.due.splice(index, 1);
    };
  };

  run(): void {
    for (const callback of this.due.splice(0)) callback();
  }
}

describe("the pace of a watch's reader", () => {
  const timers = new Timers();

  it("lets the watch wait until the reader has read, and then continue", async () => {
    let bytes = 1024 * 1024;
    const pace = new ReaderPace({ waitingBytes: () => bytes, schedule: timers.schedule });
    assert.equal(pace.untilRead(), undefined);
    bytes += 1;
    const waiting = pace.untilRead();
    timers.run();
    assert.equal(timers.due.length, 1, "it looks again");
    bytes = 0;
    timers.run();
    await waiting;
    assert.deepEqual([timers.due.length, pace.untilRead()], [0, undefined]);
  });

  it("gives each of many slow readers a smaller share of memory, and the full share again when the others have gone", () => {
    const bytes = 512 * 1024;
    const newPace = (): ReaderPace => new ReaderPace({ waitingBytes: () => bytes, schedule: timers.schedule });
    const stuck = Array.from({ length: 300 }, () => new ReaderPace({ ...lagging, schedule: timers.schedule }));
    for (const pace of stuck) assert.ok(pace.untilRead() !== undefined);
    const late = newPace();
    assert.ok(late.untilRead() !== undefined);
    late.stop();
    for (const pace of stuck) pace.stop();
    assert.equal(newPace().untilRead(), undefined);
    assert.equal(timers.due.length, 0);
  });
});

const lagging = { waitingBytes: (): number => 2 * 1024 * 1024 };
