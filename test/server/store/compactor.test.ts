import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../src/machinery/storage/change-feed.ts";
import { Compactor } from "../../../src/server/store/compactor.ts";
import type { CompactorOptions } from "../../../src/server/store/compactor.ts";
import { put } from "../../machinery/storage/store-contract.ts";

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const fiveMinutes = 5 * 60_000;

/** A started compactor of a store, for a history of 1,000 bytes, and what it reported. */
async function compacted(t: TestContext, options: Pick<CompactorOptions, "keptMilliseconds"> = {}) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const store = new MemoryStore();
  const failures: unknown[] = [];
  const log = { error: ({ err }: Record<string, unknown>) => void failures.push(err) };
  const compactor = new Compactor({ store, log, maximumBytes: 1_000, ...options });
  const feed = new ChangeFeed({ store, onChanges: (changes) => compactor.count(changes) });
  const ignored = { add() {}, finish() {} };
  await feed.join({ prefix: "/a/", beginLoad: () => ignored, apply() {}, progress() {}, end() {} }).started;
  compactor.start();
  await nextTurn();
  t.after(() => {
    compactor.stop();
    feed.close();
  });
  return {
    store,
    compactor,
    failures,
    /** Writes a value of about so many bytes, and returns its revision. */
    async write(bytes: number): Promise<number> {
      const revision = await put(store, "/a/b", "x".repeat(bytes));
      await nextTurn();
      return revision;
    },
    async pass(milliseconds: number): Promise<void> {
      t.mock.timers.tick(milliseconds);
      await nextTurn();
    },
  };
}

describe("compaction", () => {
  it("removes every five minutes what is older than the time before", async (t) => {
    const { store, write, pass } = await compacted(t);
    const atStart = store.latestRevision();
    const old = await write(1);
    await pass(fiveMinutes - 1);
    assert.equal(store.compactedRevision(), 0);
    await pass(1);
    assert.equal(store.compactedRevision(), atStart);
    await write(1);
    await pass(fiveMinutes);
    assert.equal(store.compactedRevision(), old);
  });

  it("is left to others where the history is to be kept for no time", async (t) => {
    const { store, write, pass } = await compacted(t, { keptMilliseconds: 0 });
    for (let index = 0; index < 20; index++) await write(100);
    await pass(fiveMinutes);
    await pass(fiveMinutes);
    assert.equal(store.compactedRevision(), 0);
  });

  it("keeps no more than the history may hold, however fast it grows", async (t) => {
    const { store, write } = await compacted(t);
    const revisions: number[] = [];
    for (let index = 0; index < 50; index++) revisions.push(await write(100));
    const kept = revisions.filter((revision) => revision > store.compactedRevision());
    assert.ok(kept.length >= 4 && kept.length <= 10, `${kept.length} are kept`);
  });

  it("keeps the history for five minutes after it was removed early", async (t) => {
    const { store, write, pass } = await compacted(t);
    for (let index = 0; index < 20; index++) await write(100);
    await pass(fiveMinutes / 2);
    for (let index = 0; index < 5; index++) await write(100);
    const early = store.compactedRevision();
    await pass(fiveMinutes / 2);
    assert.equal(store.compactedRevision(), early);
    await pass(fiveMinutes / 2);
    assert.ok(store.compactedRevision() > early);
  });

  it("tries again after a failure, but not with each write", async (t) => {
    const { store, write, failures } = await compacted(t);
    for (let index = 0; index < 6; index++) await write(100);
    const broken = t.mock.method(store, "compact", () => Promise.reject(new Error("the disk is full")));
    for (let index = 0; index < 20; index++) await write(100);
    assert.ok(failures.length >= 2 && failures.length <= 4, `${failures.length} failures`);
    broken.mock.restore();
    for (let index = 0; index < 6; index++) await write(100);
    assert.ok(store.compactedRevision() > 0);
  });

  it("stops", async (t) => {
    const { store, compactor, write, pass } = await compacted(t);
    compactor.stop();
    for (let index = 0; index < 20; index++) await write(100);
    await pass(fiveMinutes * 3);
    assert.equal(store.compactedRevision(), 0);
  });
});
