import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OutageReport } from "../../../src/machinery/logging/outage-report.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../src/machinery/storage/change-feed.ts";
import type { FeedFollower } from "../../../src/machinery/storage/feed-follower.ts";
import { RevisionCompacted, StoreDamaged, StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import type { WatchRequest } from "../../../src/machinery/storage/store.ts";
import { put } from "./store-contract.ts";

/** A store whose watches say nothing while it is silent, or end at once with an error. */
class FailingStore extends MemoryStore {
  isSilent = false;
  watchError: Error | undefined;
  watchCount = 0;
  #requests: WatchRequest[] = [];
  #onWatch = (): void => {};

  endWatches(error: Error): void {
    for (const request of this.#requests.splice(0)) request.onEnd(error);
  }

  async untilWatched(count: number): Promise<void> {
    while (this.watchCount < count) await new Promise<void>((resolve) => (this.#onWatch = resolve));
  }

  override watch(request: WatchRequest): { stop(): void } {
    this.watchCount += 1;
    this.#onWatch();
    this.#requests.push(request);
    const { watchError } = this;
    if (watchError !== undefined) {
      setImmediate(() => request.onEnd(watchError));
      return { stop() {} };
    }
    return super.watch({
      ...request,
      onChanges: (changes) => this.isSilent || request.onChanges(changes),
    });
  }
}

interface Followed {
  readonly store: FailingStore;
  readonly follower: FeedFollower;
  /** What was told of outages. */
  readonly told: string[];
  /** Before each new watch. */
  readonly waits: number[];
  /** Resolves when so much was told. */
  untilTold(count: number): Promise<void>;
}

async function followed(): Promise<Followed> {
  const store = new FailingStore();
  const told: string[] = [];
  const waits: number[] = [];
  const sleep = async (milliseconds: number): Promise<void> => void waits.push(milliseconds);
  let wake = (): void => {};
  const tell = (text: string): void => {
    told.push(text);
    wake();
  };
  const outage = new OutageReport({ onFailure: tell, onRecovery: () => tell("over") });
  const follower = new ChangeFeed({ store, outage, sleep }).join({
    prefix: "/things/",
    beginLoad: () => ({ add() {}, finish() {} }),
    apply() {},
    progress() {},
    end() {},
  });
  await follower.started;
  return {
    store,
    follower,
    told,
    waits,
    async untilTold(count) {
      while (told.length < count) await new Promise<void>((resolve) => (wake = resolve));
    },
  };
}

describe("a feed of the store's changes", () => {
  it("whose watch cannot take a change continues after a load that has it", async () => {
    const { store, follower } = await followed();
    store.isSilent = true;
    await put(store, "/things/a", "1");
    const { watchCount } = store;
    store.endWatches(new RevisionCompacted(1));
    await follower.waitFor(store.latestRevision());
    await store.untilWatched(watchCount + 1);
    assert.equal(follower.revision, store.latestRevision());
    follower.stop();
  });

  for (const seconds of [0, 6]) {
    it(`whose watch meets a damaged write after ${seconds} s says so, and continues after a load that has what can be read`, async (context) => {
      const { store, follower, told, untilTold } = await followed();
      store.isSilent = true;
      await put(store, "/things/a", "1");
      const now = performance.now() + seconds * 1000;
      context.mock.method(performance, "now", () => now);
      store.endWatches(new StoreDamaged("the write of revision 2 is not as it was written"));
      assert.match(told[0] ?? "", /is damaged/);
      await follower.waitFor(store.latestRevision());
      store.isSilent = false;
      await put(store, "/things/b", "1");
      await untilTold(2);
      assert.equal(told[1], "over");
      follower.stop();
    });
  }

  it("that brings nothing for ten seconds refuses those who wait, says so once, and begins anew", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { store, follower, told, untilTold } = await followed();
    store.isSilent = true;
    await put(store, "/things/a", "1");
    for (let round = 1; round <= 2; round++) {
      const waiting = assert.rejects(
        async () => follower.waitFor(store.latestRevision()),
        new StoreUnavailable("the store does not tell what changes: nothing has come for 10 s"),
      );
      context.mock.timers.tick(10_000);
      await waiting;
    }
    assert.deepEqual(told, ["nothing has come for 10 s"]);
    store.isSilent = false;
    await untilTold(2);
    await follower.waitFor(store.latestRevision());
    assert.deepEqual(told, ["nothing has come for 10 s", "over"]);
    follower.stop();
  });

  it("lets those wait who want a revision that nobody has written", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { store, follower, told } = await followed();
    const waiting = follower.waitFor(store.latestRevision() + 1);
    context.mock.timers.tick(10_000);
    await new Promise(setImmediate);
    await put(store, "/things/a", "1");
    await waiting;
    assert.deepEqual([told, store.watchCount], [[], 1]);
    follower.stop();
  });

  for (const [what, error, report] of [
    ["end at once", new StoreUnavailable("cut"), ["cut", "over"]],
    ["find their history forgotten at once", new RevisionCompacted(1), []],
    ["lose changes at once", new RevisionCompacted(1, { cause: new Error("lost") }), ["lost", "over"]],
  ] as const) {
    it(`whose watches ${what} waits longer each time`, async () => {
      const { store, follower, told, waits } = await followed();
      store.watchError = error;
      store.endWatches(error);
      await store.untilWatched(6);
      store.watchError = undefined;
      await store.untilWatched(7);
      await put(store, "/things/a", "1");
      await follower.waitFor(store.latestRevision());
      assert.deepEqual(waits, [0, 50, 100, 200, 400, 800]);
      assert.deepEqual(told, report);
      follower.stop();
    });
  }
});
