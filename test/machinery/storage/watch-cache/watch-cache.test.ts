import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { RevisionCompacted, StoreUnavailable } from "../../../../src/machinery/storage/store.ts";
import type { RangeRequest, RangeResult, Store, WatchRequest } from "../../../../src/machinery/storage/store.ts";
import { WatchCache } from "../../../../src/machinery/storage/watch-cache/watch-cache.ts";
import type { CacheEvent } from "../../../../src/machinery/storage/watch-cache/cache-event.ts";
import type { CacheWatchRequest } from "../../../../src/machinery/storage/watch-cache/watch-cache.ts";
import { put } from "../store-contract.ts";
import { StoreModel, isBetween } from "../store-model.ts";

const prefix = "/registry/things/";
const everything = { start: prefix, end: "/registry/things0" };

interface Thing {
  readonly key: string;
  readonly text: string;
}

interface CacheOptions {
  readonly store: Store;
  readonly historyLength?: number;
  readonly replayLength?: number;
}

function cacheOf({ store, historyLength = 1000, replayLength = 1000 }: CacheOptions): WatchCache<Thing> {
  const feed = new ChangeFeed({ store, replayLength });
  return new WatchCache({
    feed,
    prefix,
    historyLength,
    decode: ({ key, value, modRevision }) => ({ key, text: `${value.toString()}@${modRevision}` }),
  });
}

async function startedCache(options: CacheOptions): Promise<WatchCache<Thing>> {
  const cache = cacheOf(options);
  await cache.start();
  return cache;
}

/** Collects what a watch is given, until it is read. */
function collect(
  cache: WatchCache<Thing>,
  request: Partial<CacheWatchRequest<Thing>> & { readonly afterRevision: number },
): { readonly events: CacheEvent<Thing>[]; readonly ends: Error[]; stop(): void } {
  const events: CacheEvent<Thing>[] = [];
  const ends: Error[] = [];
  const { stop } = cache.watch({
    ...everything,
    onEvent: (event) => void events.push(event),
    onEnd: (error) => void ends.push(error),
    ...request,
  });
  return { events, ends, stop };
}

/** A store whose watches can be cut. */
class InterruptedStore extends MemoryStore {
  #requests: { readonly request: WatchRequest; readonly stop: () => void }[] = [];
  watchCount = 0;

  override watch(request: WatchRequest): { stop(): void } {
    this.watchCount += 1;
    const { stop } = super.watch(request);
    this.#requests.push({ request, stop });
    return { stop };
  }

  /** Ends all watches; `meanwhile` runs before they hear of it. */
  async interrupt(error: Error, meanwhile: () => Promise<void>): Promise<void> {
    const ended = this.#requests.splice(0);
    for (const { stop } of ended) stop();
    await meanwhile();
    for (const { request } of ended) request.onEnd(error);
  }
}

describe("a watch cache", () => {
  it("loads many objects in parts at one revision, also when the store is written to and compacted meanwhile", async () => {
    const limits: number[] = [];
    class WrittenStore extends MemoryStore {
      override async range(request: RangeRequest): Promise<RangeResult> {
        const result = await super.range(request);
        if (request.limit === undefined) return result; // the test's own
        limits.push(request.limit);
        if (limits.length > 2) return result;
        await put(this, `${prefix}9999`, `written after read ${limits.length}`);
        await this.compact(this.latestRevision());
        return result;
      }
    }
    const store = new WrittenStore();
    const count = 4500;
    for (let n = 0; n < count; n += 1) await put(store, `${prefix}${String(n).padStart(4, "0")}`, "loaded");
    const cache = await startedCache({ store, replayLength: 0 });
    assert.equal(cache.range(everything).length, count + 1);
    assert.equal(cache.get(`${prefix}9999`)?.text, `written after read 2@${cache.revision}`);
    assert.ok(limits.length > 4 && limits.every((limit) => limit < count));
  });

  it("answers reads as the store does, and delivers the store's log to watches", async () => {
    const key = fc.constantFrom(
      `${prefix}a`,
      `${prefix}a/b`,
      `${prefix}a/\u{1f600}`,
      `${prefix}a/\ue000`,
      "/registry/others/a",
    );
    const write = fc.record({ key, value: fc.option(fc.string(), { nil: undefined }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { maxLength: 15 }),
        fc.array(write, { maxLength: 15 }),
        fc.record({ start: key, end: key, afterRevision: fc.nat(20), compact: fc.nat(10) }),
        async (before, after, { start, end, afterRevision, compact }) => {
          const store = new MemoryStore();
          const model = new StoreModel();
          const writeAll = async (writes: typeof before): Promise<void> => {
            for (const { key: written, value } of writes) {
              if (value === undefined && model.entryAt(written, model.latestRevision) === undefined) continue;
              await put(store, written, value);
              model.write(written, value === undefined ? undefined : Buffer.from(value));
            }
          };
          await writeAll(before);
          const compacted = Math.min(compact, model.latestRevision);
          await store.compact(compacted);
          const cache = await startedCache({ store });
          assert.equal(cache.oldestRevision, Math.max(1, compacted)); // nothing is written at revision 1
          const live = collect(cache, { afterRevision: cache.revision });
          const narrow = [
            { start: start < prefix ? prefix : start, end },
            { start, end: `${start}\0` },
            { start: `${prefix}a/`, end: `${prefix}a0` },
          ].map((range) => ({ range, ...collect(cache, { ...range, afterRevision: cache.revision }) }));
          const loadedRevision = cache.revision;
          await writeAll(after);

          const thingAt = (at: string, revision: number): Thing | undefined => {
            const entry = model.entryAt(at, revision);
            return entry && { key: at, text: `${entry.value.toString()}@${entry.modRevision}` };
          };
          const eventsAfter = (revision: number, range: { start: string; end: string }): CacheEvent<Thing>[] =>
            model
              .changesAfter(revision)
              .filter((change) => isBetween({ key: change.key, ...range }))
              .map((change): CacheEvent<Thing> => {
                const previous = thingAt(change.key, change.revision - 1);
                const object = thingAt(change.key, change.revision);
                const common = { key: change.key, revision: change.revision };
                if (object !== undefined) return { type: "put", ...common, object, previous };
                return { type: "delete", ...common, previous: previous ?? assert.fail() };
              });
          const range = { start: start < prefix ? prefix : start, end };
          const expected = model
            .rangeAt({ ...range, revision: model.latestRevision })
            .filter((entry) => entry.key >= prefix);
          assert.equal(cache.revision, model.latestRevision);
          assert.deepEqual(
            cache.range(range),
            expected.map(({ key }) => thingAt(key, model.latestRevision)),
          );
          assert.equal(cache.countAt(range, model.latestRevision), expected.length);
          const countThen = model
            .rangeAt({ ...range, revision: afterRevision })
            .filter(({ key }) => key >= prefix).length;
          const isKept = afterRevision >= cache.oldestRevision && afterRevision <= cache.revision;
          assert.equal(cache.countAt(range, afterRevision), isKept ? countThen : undefined);
          assert.deepEqual(cache.get(`${prefix}a`), thingAt(`${prefix}a`, model.latestRevision));
          assert.deepEqual(live.events, eventsAfter(loadedRevision, everything));
          for (const { events, range: watched } of narrow) {
            const inCache = eventsAfter(loadedRevision, watched).filter((event) => event.key.startsWith(prefix));
            assert.deepEqual(events, inCache);
          }
          if (afterRevision < cache.oldestRevision) {
            assert.throws(() => collect(cache, { afterRevision }), RevisionCompacted);
          } else {
            assert.deepEqual(collect(cache, { ...range, afterRevision }).events, eventsAfter(afterRevision, range));
          }
        },
      ),
    );
  });

  it("resumes a watch from before a restart without a gap", async () => {
    const store = new MemoryStore();
    const first = await startedCache({ store });
    await put(store, `${prefix}a`, "1");
    const lastSeen = first.revision;
    await put(store, `${prefix}a`, "2");
    await put(store, `${prefix}a`, undefined);
    const second = await startedCache({ store });
    const key = `${prefix}a`;
    assert.deepEqual(collect(second, { afterRevision: lastSeen }).events, [
      { type: "put", key, revision: 3, object: { key, text: "2@3" }, previous: { key, text: "1@2" } },
      { type: "delete", key, revision: 4, previous: { key, text: "2@3" } },
    ]);
  });

  it("replays a bounded part of the log at start and refuses watches from before it", async () => {
    const store = new MemoryStore();
    for (let value = 0; value < 10; value++) await put(store, `${prefix}a`, `${value}`);
    const cache = await startedCache({ store, replayLength: 3 });
    assert.equal(cache.oldestRevision, 8);
    assert.equal(collect(cache, { afterRevision: 8 }).events.length, 3);
    assert.throws(() => collect(cache, { afterRevision: 7 }), RevisionCompacted);
  });

  it("keeps a bounded number of events", async () => {
    const store = new MemoryStore();
    const cache = await startedCache({ store, historyLength: 3 });
    for (let value = 0; value < 10; value++) await put(store, `${prefix}a`, `${value}`);
    assert.equal(cache.oldestRevision, 8);
    assert.deepEqual(
      collect(cache, { afterRevision: 8 }).events.map(({ revision }) => revision),
      [9, 10, 11],
    );
    assert.throws(() => collect(cache, { afterRevision: 7 }), RevisionCompacted);
  });

  it("continues without a gap when the backend's watch fails", async () => {
    const store = new InterruptedStore();
    const cache = await startedCache({ store });
    const { events, ends } = collect(cache, { afterRevision: cache.revision });
    await put(store, `${prefix}a`, "1");
    await store.interrupt(new StoreUnavailable("gone"), async () => {
      await put(store, `${prefix}a`, "2");
      await put(store, `${prefix}a`, "3");
    });
    await cache.waitFor(4);
    assert.deepEqual(
      events.map(({ revision }) => revision),
      [2, 3, 4],
    );
    assert.deepEqual(ends, []);
  });

  it("reloads and ends the watches that missed events when the store has compacted the next ones", async () => {
    const store = new InterruptedStore();
    const cache = await startedCache({ store });
    await put(store, `${prefix}gone`, "1");
    const { events, ends } = collect(cache, { afterRevision: cache.revision });
    const future = collect(cache, { afterRevision: 6 });
    await store.interrupt(new RevisionCompacted(5), async () => {
      await put(store, `${prefix}gone`, undefined);
      await put(store, `${prefix}a`, "1");
      await put(store, `${prefix}a`, "2");
      await store.compact(5);
      await put(store, `${prefix}a`, "3");
    });
    await cache.waitFor(6);
    assert.deepEqual(events, []);
    assert.deepEqual(ends, [new RevisionCompacted(6)]);
    assert.deepEqual(cache.range(everything), [{ key: `${prefix}a`, text: "3@6" }]);
    assert.equal(cache.oldestRevision, 6);
    await put(store, `${prefix}a`, "4");
    assert.equal(cache.get(`${prefix}a`)?.text, "4@7");
    assert.deepEqual(
      future.events.map(({ revision }) => revision),
      [7],
    );
  });

  it("reloads before it ends watches, so that a watch that restarts at once misses nothing", async () => {
    const store = new InterruptedStore();
    const cache = await startedCache({ store });
    await put(store, `${prefix}a`, "1");
    const seen: string[] = [];
    const follow = (): void => {
      seen.push(...cache.range(everything).map(({ text }) => `state ${text}`));
      collect(cache, {
        afterRevision: cache.revision,
        onEvent: ({ revision }) => void seen.push(`event ${revision}`),
        onEnd: follow,
      });
    };
    follow();
    await store.interrupt(new RevisionCompacted(4), async () => {
      await put(store, `${prefix}a`, "2");
      await put(store, `${prefix}a`, "3");
      await store.compact(4);
    });
    await cache.waitFor(4);
    await put(store, `${prefix}a`, "4");
    assert.deepEqual(seen, ["state 1@2", "state 3@4", "event 5"]);
  });

  it("adds up the sizes of what each group has stored, through any changes and reloads", async () => {
    const groupOfKey = (key: string): string => key.slice(prefix.length, key.lastIndexOf("/"));
    const groups = ["a", "b"];
    const write = fc.record({
      key: fc.constantFrom(...groups).chain((group) => fc.constantFrom("1", "2").map((name) => `${group}/${name}`)),
      value: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
      isMissed: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 8 }), fc.boolean(), async (writes, doKeysTell) => {
        const store = new InterruptedStore();
        const cache = new WatchCache<Thing>({
          feed: new ChangeFeed({ store }),
          prefix,
          historyLength: 10,
          decode: ({ key, value }) => ({ key, text: value.toString("latin1") }),
          sizes: {
            groupOf: ({ key }) => groupOfKey(key),
            groupOfKey: doKeysTell ? groupOfKey : undefined,
            storedBytesOf: ({ text }) => text.length,
          },
        });
        await cache.start();
        for (const { key, value, isMissed } of writes) {
          const act = async (): Promise<void> => {
            if (value === undefined && cache.get(prefix + key) === undefined) return;
            await put(store, prefix + key, value);
            if (isMissed) await store.compact(store.latestRevision());
          };
          if (isMissed) await store.interrupt(new RevisionCompacted(store.latestRevision()), act);
          else await act();
          await cache.waitFor(store.latestRevision());
          await nextTurn(); // a load may be counted only there
          for (const group of groups) {
            const { entries } = await store.range({ start: `${prefix}${group}/`, end: `${prefix}${group}0` });
            const bytes = entries.reduce((sum, entry) => sum + entry.value.length, 0);
            assert.equal(cache.sizes?.of(group), bytes);
          }
          assert.deepEqual(
            [...(cache.sizes?.entries() ?? [])].filter(([, bytes]) => bytes === 0),
            [],
          );
        }
      }),
      { numRuns: 30 },
    );
  });

  it("ends every wait for a revision when the feed closes", async () => {
    const store = new MemoryStore();
    const feed = new ChangeFeed({ store });
    const cache = new WatchCache({ feed, prefix, historyLength: 10, decode: ({ key }) => ({ key }) });
    await cache.start();
    const waiting = cache.waitFor(1000);
    feed.close();
    await assert.rejects(waiting ?? assert.fail(), StoreUnavailable);
  });

  it("waits for a revision until it is applied or the wait is given up", async () => {
    const store = new MemoryStore();
    const cache = await startedCache({ store });
    assert.equal(cache.waitFor(1), undefined);
    const patient = new AbortController();
    const reached = cache.waitFor(3, patient.signal);
    const controller = new AbortController();
    const givenUp = cache.waitFor(3, controller.signal);
    controller.abort(new Error("the client left"));
    await assert.rejects(givenUp ?? Promise.resolve(), /the client left/);
    await assert.rejects(cache.waitFor(3, controller.signal) ?? Promise.resolve(), /the client left/);
    await put(store, "/elsewhere/a", "1");
    await put(store, "/elsewhere/b", "1");
    await reached;
    assert.equal(cache.revision, 3);
    assert.equal(getEventListeners(patient.signal, "abort").length, 0, "the signal keeps nothing of a wait");
  });

  it("reaches a revision, even one of another prefix, when its watches have all events up to it", async () => {
    const store = new MemoryStore();
    const cache = await startedCache({ store });
    const revisions: [event: number, reached: number][] = [];
    collect(cache, { afterRevision: 1, onEvent: ({ revision }) => void revisions.push([revision, cache.revision]) });
    await put(store, `${prefix}a`, "1");
    await put(store, "/registry/others/a", "1");
    assert.deepEqual(revisions, [[2, 1]]);
    assert.equal(cache.revision, 3);
  });

  it("gives a watch of a value the events of objects that have it, or had it before", async () => {
    const store = new MemoryStore();
    const cache = await startedCache({ store });
    const where = { field: "initial", value: "x", valueOf: ({ text }: Thing) => text.charAt(0) };
    const watch = collect(cache, { afterRevision: 1, where });
    for (const value of ["y1", "x2", "x3", "z4", "z5", "x6", undefined]) await put(store, `${prefix}a`, value);
    assert.deepEqual(
      watch.events.map(({ revision }) => revision),
      [3, 4, 5, 7, 8],
    );
  });

  it("gives a watch every event of a revision, since on etcd several keys may share one", async () => {
    class SharingStore extends MemoryStore {
      override watch(request: WatchRequest): { stop(): void } {
        return super.watch({
          ...request,
          onChanges: (changes) =>
            request.onChanges(changes.map((change) => ({ ...change, revision: changes.at(-1)?.revision ?? 0 }))),
        });
      }
    }
    const store = new SharingStore();
    const cache = await startedCache({ store });
    const live = collect(cache, { afterRevision: cache.revision });
    await store.writeTogether(
      ["a", "b", "c"].map((name) => ({ key: prefix + name, value: Buffer.from(name), expectedRevision: 0 })),
    );
    const shown = ({ events }: typeof live): string[] => events.map(({ key, revision }) => `${key}@${revision}`);
    const expected = ["a", "b", "c"].map((name) => `${prefix}${name}@4`);
    assert.deepEqual(shown(live), expected);
    assert.deepEqual(shown(collect(cache, { afterRevision: 3 })), expected, "and from the history");
    assert.deepEqual(shown(collect(cache, { afterRevision: 4 })), []);
  });

  it("counts replaced values in the size of its history", async () => {
    const store = new MemoryStore();
    const feed = new ChangeFeed({ store });
    const megabyte = "x".repeat(2 ** 20);
    const cache = new WatchCache<Thing>({
      feed,
      prefix,
      historyLength: 1000,
      decode: ({ key, value }) => ({ key, text: value.toString() }),
      bytesOf: ({ text }) => text.length,
    });
    await cache.start();
    for (let n = 0; n < 40; n += 1) await put(store, `${prefix}${n}`, megabyte);
    const afterCreates = cache.revision;
    for (let n = 0; n < 40; n += 1) await put(store, `${prefix}${n}`, "small");
    assert.ok(cache.oldestRevision > afterCreates, "the history keeps less than all that was made small");
    assert.ok(cache.oldestRevision < cache.revision - 20);
  });

  it("ends only the watch whose callback throws", async () => {
    const store = new MemoryStore();
    const cache = await startedCache({ store });
    const failure = new Error("a fault of the watcher");
    const faulty = collect(cache, {
      afterRevision: 1,
      onEvent: () => {
        throw failure;
      },
    });
    const sound = collect(cache, { afterRevision: 1 });
    await put(store, `${prefix}a`, "1");
    await put(store, `${prefix}a`, "2");
    assert.deepEqual(faulty.ends, [failure]);
    assert.equal(sound.events.length, 2);
  });

  it("delivers no event twice to a watch that starts during its delivery, and none after stop", async () => {
    const store = new MemoryStore();
    const cache = await startedCache({ store });
    let inner: { readonly events: CacheEvent<Thing>[] } | undefined;
    const outer = collect(cache, {
      afterRevision: 1,
      onEvent: () => {
        inner = collect(cache, { afterRevision: 1 });
        stop();
      },
    });
    const stop = (): void => outer.stop();
    await put(store, `${prefix}a`, "1");
    await put(store, `${prefix}b`, "1");
    assert.deepEqual(
      inner?.events.map(({ revision }) => revision),
      [2, 3],
    );
  });

  it("shares one watch of the store with the caches that start with it", async () => {
    const store = new InterruptedStore();
    const feed = new ChangeFeed({ store });
    const caches = ["/registry/a/", "/registry/b/", "/registry/c/d/"].map(
      (prefix) => new WatchCache({ feed, prefix, historyLength: 10, decode: ({ key }) => ({ key }) }),
    );
    await Promise.all(caches.map((cache) => cache.start()));
    assert.equal(store.watchCount, 1);
    for (const key of ["/registry/a/1", "/registry/b/1", "/registry/c/d/1", "/registry/c/1"])
      await put(store, key, "1");
    assert.deepEqual(
      caches.map((cache) => cache.range({ start: "/", end: "0" }).map(({ key }) => key)),
      [["/registry/a/1"], ["/registry/b/1"], ["/registry/c/d/1"]],
    );
    const late = new WatchCache({ feed, prefix: "/registry/c/e/", historyLength: 10, decode: ({ key }) => ({ key }) });
    await put(store, "/registry/c/e/1", "1");
    await late.start();
    assert.deepEqual(late.range({ start: "/", end: "0" }), [{ key: "/registry/c/e/1" }]);
    assert.equal(late.revision, store.latestRevision());
  });

  it("ends its watches when the feed closes", async () => {
    const store = new MemoryStore();
    const feed = new ChangeFeed({ store });
    const cache = new WatchCache({
      feed,
      prefix,
      historyLength: 10,
      decode: ({ key, value }) => ({ key, text: value.toString() }),
    });
    await cache.start();
    const { ends } = collect(cache, { afterRevision: 1 });
    feed.close();
    assert.equal(ends.length, 1);
  });
});
