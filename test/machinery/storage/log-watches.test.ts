import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { catchUpBounds, LogWatches } from "../../../src/machinery/storage/log-watches.ts";
import type { Change } from "../../../src/machinery/storage/store.ts";

/** A log of changes, and the watches on it. */
class TestLog {
  readonly changes: Change[] = [];
  isTurnOver = false;
  readonly watches = new LogWatches(
    {
      latestRevision: () => this.changes.length,
      compactedRevision: () => 0,
      changesAfter: (revision, { count }) => this.changes.slice(revision, revision + count),
    },
    () => this.isTurnOver,
  );

  /** Writes changes of another process, or returns those that this process then delivers. */
  write(count: number): Change[] {
    const first = this.changes.length + 1;
    const written = Array.from({ length: count }, (_, index): Change => {
      const revision = first + index;
      return { key: `/k/${revision}`, revision, value: undefined, createRevision: 0 };
    });
    this.changes.push(...written);
    return written;
  }

  /** The revisions that a watch gets. */
  watch({
    afterRevision = 0,
    onEach,
  }: { readonly afterRevision?: number; readonly onEach?: (watch: { stop(): void }) => void } = {}): number[] {
    const seen: number[] = [];
    const watch = this.watches.add({
      afterRevision,
      onChanges: (changes) => {
        onEach?.(watch);
        seen.push(...changes.map(({ revision }) => revision));
      },
      onEnd: () => seen.push(-1),
    });
    return seen;
  }
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

describe("a watch of a log that lags behind", () => {
  it("gets every earlier change before those that are delivered to it, and each once", async () => {
    const log = new TestLog();
    log.write(3);
    const seen = log.watch();
    log.watches.deliver(log.write(1));
    assert.deepEqual(seen, upTo(4));
    await nextTurn();
    assert.deepEqual(seen, upTo(4));
  });

  it("by more than a turn delivers gets the rest later, and nothing before it", async () => {
    const log = new TestLog();
    const { count } = catchUpBounds;
    log.write(2 * count);
    const seen = log.watch();
    log.watches.deliver(log.write(1));
    assert.deepEqual(seen, upTo(count));
    assert.equal(log.watches.isBehind(count + 1), true);
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    assert.deepEqual(seen, upTo(2 * count + 1));
    assert.equal(log.watches.isBehind(2 * count + 1), false);
  });

  it("gets no more than one change in a turn when that takes as long as a turn", async () => {
    const log = new TestLog();
    log.isTurnOver = true;
    log.write(2);
    const seen = log.watch();
    log.watches.deliver(log.write(1));
    assert.deepEqual(seen, upTo(1));
    for (const last of [2, 3]) {
      await nextTurn();
      assert.deepEqual(seen, upTo(last));
    }
    assert.equal(log.watches.isBehind(3), false);
  });

  it("gets nothing more once it has stopped", async () => {
    const log = new TestLog();
    log.write(3);
    const seen = log.watch({ onEach: (watch) => watch.stop() });
    await nextTurn();
    assert.deepEqual(seen, [1]);
  });

  it("gets of a delivery what it has not seen", () => {
    const log = new TestLog();
    const seen = log.watch({ afterRevision: 1 });
    const written = log.write(3);
    log.watches.deliver(written);
    log.watches.deliver(written);
    assert.deepEqual(seen, [2, 3]);
  });

  it("ends alone when its callback throws", () => {
    const log = new TestLog();
    const failing = log.watch({
      onEach() {
        throw new Error("broken");
      },
    });
    const seen = log.watch();
    log.watches.deliver(log.write(1));
    log.watches.deliver(log.write(1));
    assert.deepEqual(failing, [-1]);
    assert.deepEqual(seen, upTo(2));
  });
});
