import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  RevisionCompacted,
  RevisionInFuture,
  StoreUnavailable,
  WriteAbandoned,
} from "../../../src/machinery/storage/store.ts";
import type { Change, Entry, Head, LoggedWrite, RangeRequest, Store } from "../../../src/machinery/storage/store.ts";
import { StoreModel } from "./store-model.ts";
import { everyKey } from "../../../src/machinery/storage/key-range.ts";

export interface OpenedStore {
  readonly store: Store;
  /** The revision before the first write. Default 1. */
  readonly firstRevision?: number;
  /** How much the revision grows with each transaction. Default: as much as it has writes. */
  readonly step?: number;
  /** Closes the store and removes what it kept. */
  dispose(): Promise<void>;
}

/** The revision of the n-th write, if each write is a transaction of its own. */
type RevisionOf = (write: number) => number;

/** Every write takes one. */
const singleSteps = 1;

const bytes = (text: string): Buffer => Buffer.from(text);

/** Writes, whatever the key's current value. Returns the revision. */
export async function put(store: Store, key: string, value: string | undefined): Promise<number> {
  const { entries } = await store.range({ start: key, end: `${key}\u0000` });
  const expectedRevision = entries[0]?.modRevision ?? 0;
  const result = await store.write({ key, value: value === undefined ? undefined : bytes(value), expectedRevision });
  assert.ok(result.isWritten);
  return result.revision;
}

/** Resolves with the first `count` changes, or rejects with the reason why the watch ended. */
export function takeChanges(store: Store, request: { afterRevision: number; count: number }): Promise<Change[]> {
  return new Promise((resolve, reject) => {
    const taken: Change[] = [];
    const watch = store.watch({
      afterRevision: request.afterRevision,
      onChanges: (changes) => {
        assert.ok(changes.length > 0);
        taken.push(...changes);
        if (taken.length < request.count) return;
        watch.stop();
        resolve(taken);
      },
      onEnd: reject,
    });
  });
}

/** What a watch brings after a revision. */
class Follower {
  readonly calls: (readonly Change[])[] = [];
  readonly #watch: { stop(): void };
  #ended: Error | undefined;
  #next = Promise.withResolvers<void>();

  constructor(store: Store, afterRevision: number) {
    this.#watch = store.watch({
      afterRevision,
      onChanges: (changes) => {
        this.calls.push([...changes]);
        this.#tell();
      },
      onEnd: (error) => {
        this.#ended = error;
        this.#tell();
      },
    });
  }

  get changes(): readonly Change[] {
    return this.calls.flat();
  }

  /** Resolves with the changes once there are so many: a write to etcd waits only for so long until its watch has brought it. */
  async untilChanges(count: number): Promise<readonly Change[]> {
    while (this.changes.length < count) {
      if (this.#ended !== undefined) throw this.#ended;
      await this.#next.promise;
    }
    return this.changes;
  }

  stop(): void {
    this.#watch.stop();
  }

  #tell(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}

/** The contract that every backend must fulfil. */
export function testStore(name: string, open: () => Promise<OpenedStore>): void {
  const withStore = (test: (store: Store, revisionOf: RevisionOf) => Promise<void>) => async (): Promise<void> => {
    const { store, firstRevision = 1, step: stepOfStore = singleSteps, dispose } = await open();
    try {
      await test(store, (write) => firstRevision + write * stepOfStore);
    } finally {
      await dispose();
    }
  };

  describe(`the ${name} store`, () => {
    it(
      "begins at its first revision with nothing compacted",
      withStore(async (store, revisionOf) => {
        assert.equal(await store.latestRevision(), revisionOf(0));
        assert.equal(await store.compactedRevision(), 0);
        assert.deepEqual(await store.range(everyKey), { entries: [], revision: revisionOf(0), hasMore: false });
      }),
    );

    it(
      "gives each write the next revision and keeps the revision that created the key",
      withStore(async (store, revisionOf) => {
        const [first, second, third] = [revisionOf(1), revisionOf(2), revisionOf(3)];
        assert.deepEqual(await store.write({ key: "/a", value: bytes("1"), expectedRevision: 0 }), {
          isWritten: true,
          revision: first,
        });
        assert.equal(await put(store, "/b", "2"), second);
        assert.equal(await put(store, "/a", "3"), third);
        assert.deepEqual((await store.range(everyKey)).entries, [
          { key: "/a", value: bytes("3"), createRevision: first, modRevision: third },
          { key: "/b", value: bytes("2"), createRevision: second, modRevision: second },
        ]);
        assert.equal(await store.latestRevision(), third);
      }),
    );

    it(
      "refuses a write that expects another revision, and tells what is there",
      withStore(async (store, revisionOf) => {
        const revision = await put(store, "/a", "1");
        const current = { key: "/a", value: bytes("1"), createRevision: revision, modRevision: revision };
        for (const expectedRevision of [0, revisionOf(0), revisionOf(2)]) {
          const result = await store.write({ key: "/a", value: bytes("2"), expectedRevision });
          assert.deepEqual(result, { isWritten: false, current });
        }
        assert.deepEqual(await store.write({ key: "/b", value: bytes("2"), expectedRevision: revision }), {
          isWritten: false,
          current: undefined,
        });
        assert.equal(await store.latestRevision(), revision);
      }),
    );

    it(
      "writes the keys of a transaction in their order, and gives them to a watch in one call",
      withStore(async (store) => {
        const created = await put(store, "/b", "1");
        const follower = new Follower(store, created);
        const results = await store.writeTogether([
          { key: "/c", value: bytes("2"), expectedRevision: 0 },
          { key: "/b", value: bytes("3"), expectedRevision: created },
        ]);
        const [first = 0, second = 0] = results.map((result) => (result.isWritten ? result.revision : 0));
        assert.ok(created < first && first <= second);
        assert.equal(await store.latestRevision(), second);
        await follower.untilChanges(1);
        assert.deepEqual(
          follower.calls.map((changes) => changes.map(({ key, value, revision }) => [key, String(value), revision])),
          [
            [
              ["/c", "2", first],
              ["/b", "3", second],
            ],
          ],
        );
        follower.stop();
        const removed = await store.writeTogether([
          { key: "/b", value: undefined, expectedRevision: second },
          { key: "/c", value: bytes("4"), expectedRevision: first },
        ]);
        assert.ok(removed.every(({ isWritten }) => isWritten));
        assert.deepEqual(
          (await store.range(everyKey)).entries.map(({ key, value }) => [key, String(value)]),
          [["/c", "4"]],
        );
      }),
    );

    it(
      "writes nothing of a transaction when one of its keys has another revision, and tells what is there",
      withStore(async (store, revisionOf) => {
        const revision = await put(store, "/a", "1");
        const current = { key: "/a", value: bytes("1"), createRevision: revision, modRevision: revision };
        for (const expectedRevision of [0, revisionOf(2)]) {
          const refused = await store.writeTogether([
            { key: "/new", value: bytes("2"), expectedRevision: 0 },
            { key: "/a", value: bytes("2"), expectedRevision },
          ]);
          assert.deepEqual(refused, [
            { isWritten: false, current: undefined },
            { isWritten: false, current },
          ]);
        }
        assert.equal(await store.latestRevision(), revision);
        assert.equal((await store.range(everyKey)).entries.length, 1);
      }),
    );

    it(
      "lets one of two transactions win that are begun at once and share a key",
      withStore(async (store) => {
        const results = await Promise.all(
          ["/a", "/b"].map((own) =>
            store.writeTogether([
              { key: own, value: bytes("1"), expectedRevision: 0 },
              { key: "/shared", value: bytes(own), expectedRevision: 0 },
            ]),
          ),
        );
        const winners = results.filter((ofOne) => ofOne.every(({ isWritten }) => isWritten));
        const losers = results.filter((ofOne) => ofOne.every(({ isWritten }) => !isWritten));
        assert.deepEqual([winners.length, losers.length], [1, 1]);
        assert.equal((await store.range(everyKey)).entries.length, 2);
      }),
    );

    it(
      "refuses a transaction that writes a key twice",
      withStore(async (store, revisionOf) => {
        const twice = ["1", "2"].map((value) => ({ key: "/a", value: bytes(value), expectedRevision: 0 }));
        await assert.rejects(store.writeTogether(twice), /twice/);
        assert.equal(await store.latestRevision(), revisionOf(0));
      }),
    );

    it(
      "writes nothing for a caller that has left before the write starts, alone or in a transaction",
      withStore(async (store, revisionOf) => {
        const mine = { key: "/a", value: bytes("1"), expectedRevision: 0, signal: AbortSignal.abort() };
        const other = { key: "/b", value: bytes("1"), expectedRevision: 0 };
        await assert.rejects(store.write(mine), WriteAbandoned);
        await assert.rejects(store.writeTogether([other, mine]), WriteAbandoned);
        assert.equal(await store.latestRevision(), revisionOf(0));
      }),
    );

    it(
      "answers the delete of nothing as not written",
      withStore(async (store, revisionOf) => {
        const result = await store.write({ key: "/a", value: undefined, expectedRevision: 0 });
        assert.deepEqual(result, { isWritten: false, current: undefined });
        assert.equal(await store.latestRevision(), revisionOf(0));
      }),
    );

    it(
      "lets exactly one of many concurrent creates of a key win",
      withStore(async (store) => {
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            store.write({ key: "/a", value: bytes(`${index}`), expectedRevision: 0 }),
          ),
        );
        assert.equal(results.filter(({ isWritten }) => isWritten).length, 1);
        const { entries } = await store.range(everyKey);
        for (const result of results) if (!result.isWritten) assert.deepEqual(result.current, entries[0]);
      }),
    );

    it(
      "creates a deleted key anew",
      withStore(async (store) => {
        await put(store, "/a", "1");
        await put(store, "/a", undefined);
        const revision = await put(store, "/a", "2");
        assert.equal((await store.range(everyKey)).entries[0]?.createRevision, revision);
      }),
    );

    it(
      "tells whether more keys follow a limit",
      withStore(async (store) => {
        for (const key of ["/a", "/b", "/c"]) await put(store, key, key);
        const answer = async (limit: number): Promise<unknown> => {
          const { entries, hasMore } = await store.range({ ...everyKey, limit });
          return [entries.map(({ key }) => key).join(""), hasMore];
        };
        assert.deepEqual(await answer(2), ["/a/b", true]);
        assert.deepEqual(await answer(3), ["/a/b/c", false]);
        assert.deepEqual(await answer(0), ["/a/b/c", false]);
      }),
    );

    it(
      "keeps values of any size and bytes",
      withStore(async (store) => {
        const large = Buffer.alloc(3 * 2 ** 20, 7);
        const key = `/${"k".repeat(600)}`;
        await store.write({ key, value: large, expectedRevision: 0 });
        await store.write({ key: "/empty", value: Buffer.alloc(0), expectedRevision: 0 });
        const { entries } = await store.range(everyKey);
        assert.deepEqual(
          entries.map((entry) => [entry.key, entry.value.equals(large), entry.value.length]),
          [
            ["/empty", false, 0],
            [key, true, large.length],
          ],
        );
      }),
    );

    it(
      "refuses keys that it can't hold",
      withStore(async (store) => {
        for (const key of ["", "/\ud800", `/${"k".repeat(2000)}`]) {
          await assert.rejects(store.write({ key, value: bytes("1"), expectedRevision: 0 }), /a key must/);
        }
      }),
    );

    it(
      "reads no revision that is not written or is forgotten",
      withStore(async (store, revisionOf) => {
        await put(store, "/a", "1");
        const revision = await put(store, "/a", "2");
        await assert.rejects(store.range({ ...everyKey, revision: revision + 1 }), new RevisionInFuture(revision));
        await assert.rejects(store.compact(revisionOf(3)), RevisionInFuture);
        await store.compact(revision);
        assert.equal(await store.compactedRevision(), revision);
        await assert.rejects(store.range({ ...everyKey, revision: revision - 1 }), new RevisionCompacted(revision));
        assert.equal((await store.range({ ...everyKey, revision })).entries.length, 1);
        await store.compact(1);
        assert.equal(await store.compactedRevision(), revision);
      }),
    );

    it(
      "gives a watch what was written before it and after it",
      withStore(async (store, revisionOf) => {
        await put(store, "/a", "1");
        const changes = takeChanges(store, { afterRevision: 1, count: 3 });
        await put(store, "/b", "2");
        await put(store, "/a", undefined);
        assert.deepEqual(await changes, [
          { revision: revisionOf(1), key: "/a", value: bytes("1"), createRevision: revisionOf(1) },
          { revision: revisionOf(2), key: "/b", value: bytes("2"), createRevision: revisionOf(2) },
          { revision: revisionOf(3), key: "/a", value: undefined, createRevision: 0 },
        ]);
      }),
    );

    it(
      "has given a write to watches that are up to date when it resolves",
      withStore(async (store) => {
        const follower = new Follower(store, await store.latestRevision());
        const first = await put(store, "/a", "1");
        await follower.untilChanges(1); // a watch of etcd takes a while to begin
        const second = await put(store, "/b", "2");
        assert.deepEqual(
          follower.changes.map(({ revision }) => revision),
          [first, second],
        );
      }),
    );

    it(
      "starts calling a watch after watch has returned, and never after it is stopped",
      withStore(async (store) => {
        await put(store, "/a", "1");
        const watch = store.watch({
          afterRevision: 1,
          onChanges: () => assert.fail("called"),
          onEnd: () => assert.fail("ended"),
        });
        watch.stop();
        await put(store, "/a", "2");
        await takeChanges(store, { afterRevision: 1, count: 2 });
      }),
    );

    it(
      "ends a watch that starts before what is kept",
      withStore(async (store) => {
        await put(store, "/a", "1");
        const revision = await put(store, "/a", "2");
        await store.compact(revision);
        await assert.rejects(takeChanges(store, { afterRevision: revision - 1, count: 1 }), RevisionCompacted);
        const next = takeChanges(store, { afterRevision: revision, count: 1 });
        assert.equal(await put(store, "/a", "3"), (await next)[0]?.revision);
      }),
    );

    it(
      "ends only the watch whose callback throws",
      withStore(async (store) => {
        const failure = new Error("a fault of the watcher");
        const ended = new Promise<Error>((resolve) => {
          const onChanges = (): void => {
            throw failure;
          };
          store.watch({ afterRevision: 1, onChanges, onEnd: resolve });
        });
        const changes = takeChanges(store, { afterRevision: 1, count: 1 });
        await put(store, "/a", "1");
        assert.equal(await ended, failure);
        assert.equal((await changes).length, 1);
      }),
    );

    it(
      "refuses writes and ends watches once it is closed",
      withStore(async (store) => {
        const ended = new Promise((resolve) => store.watch({ afterRevision: 1, onChanges: () => {}, onEnd: resolve }));
        await store.close();
        assert.ok((await ended) instanceof StoreUnavailable);
        await assert.rejects(store.write({ key: "/a", value: bytes("1"), expectedRevision: 0 }), StoreUnavailable);
      }),
    );

    it(
      "reads no more of a range than the bytes that are asked for, and at least one entry",
      withStore(async (store) => {
        for (const name of ["a", "b", "c", "d"]) await put(store, `/${name}`, "x".repeat(1000));
        const read = async (maximumBytes: number): Promise<readonly [string, boolean]> => {
          const { entries, hasMore } = await store.range({ ...everyKey, maximumBytes });
          return [entries.map((entry) => entry.key).join(""), hasMore];
        };
        assert.deepEqual(await read(1), ["/a", true]);
        assert.deepEqual(await read(1500), ["/a/b", true]);
        assert.deepEqual(await read(2500), ["/a/b/c", true]);
        assert.deepEqual(await read(5000), ["/a/b/c/d", false]);
      }),
    );

    it("behaves like its model in random sequences of operations", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const { store, firstRevision = 1, step: stepOfStore = singleSteps, dispose } = await open();
          try {
            const model = new StoreModel({ firstRevision, step: stepOfStore });
            await runAgainstModel({ store, model, steps });
          } finally {
            await dispose();
          }
        }),
        { numRuns: 40 },
      );
    });
  });
}

// Astral and private-use characters: UTF-16 and UTF-8 order them differently.
const key = fc.constantFrom("/a", "/a/b", "/a/\u{1f600}", "/a/\ue000", "/ab", "/b", "/ä");

const brace = 0x7b;
const value = fc.oneof(
  fc.string(),
  fc.string().map((text) => `{${text}`),
);

type Step =
  | { readonly do: "write"; readonly key: string; readonly value: string | undefined; readonly isStale: boolean }
  | { readonly do: "writeTogether"; readonly writes: readonly { readonly key: string; readonly value: string }[] }
  | {
      readonly do: "range";
      readonly start: string;
      readonly end: string;
      readonly back: number;
      readonly limit: number;
    }
  | { readonly do: "watch"; readonly back: number }
  | { readonly do: "compact"; readonly back: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("write" as const),
      key,
      value: fc.option(value, { nil: undefined }),
      isStale: fc.boolean(),
    }),
  },
  fc.record({
    do: fc.constant("writeTogether" as const),
    writes: fc.array(fc.record({ key, value }), { maxLength: 5 }),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("range" as const),
      start: key,
      end: key,
      back: fc.nat(12),
      limit: fc.nat(4),
    }),
  },
  fc.record({ do: fc.constant("watch" as const), back: fc.nat(20) }),
  fc.record({ do: fc.constant("compact" as const), back: fc.nat(10) }),
);

interface ModelRun {
  readonly store: Store;
  readonly model: StoreModel;
  readonly steps: readonly Step[];
}

async function runAgainstModel({ store, model, steps }: ModelRun): Promise<void> {
  const follower = new Follower(store, model.latestRevision);
  // A compaction would end a watch that has not begun.
  await runStep({ store, model, action: { do: "write", key: "/a", value: "first", isStale: false } });
  await follower.untilChanges(1);
  for (const action of steps) await runStep({ store, model, action });
  assert.equal(await store.latestRevision(), model.latestRevision);
  const all = { ...everyKey, revision: model.latestRevision };
  await checkHeads(store, { request: all, entries: model.rangeAt(all) });
  assert.deepEqual(await follower.untilChanges(model.changes.length), model.changes);
  follower.stop();
}

/** Reading heads finds the same entries. The values that are left out begin with the byte, and can be read later. */
async function checkHeads(
  store: Store,
  { request, entries }: { readonly request: RangeRequest; readonly entries: readonly Entry[] },
): Promise<void> {
  const read = await store.rangeOfHeads?.({ ...request, firstByte: brace });
  for (const [index, found] of (read?.entries ?? []).entries()) {
    const expected = entries[index];
    if (found.value !== undefined) assert.deepEqual(found, expected);
    else {
      assert.deepEqual([found.key, found.modRevision], [expected?.key, expected?.modRevision]);
      assert.equal(expected?.value[0], brace);
      assert.equal(found.valueBytes, expected?.value.length);
      assert.deepEqual(
        Buffer.from(store.valueAt?.({ key: found.key, revision: found.modRevision }) ?? []),
        expected?.value,
      );
    }
  }
  if (read !== undefined) assert.equal(read.entries.length, entries.length);
}

const logBounds = { limit: 2, maximumBytes: 3 };

const valueBytes = (writes: readonly LoggedWrite[]): number =>
  writes
    .flatMap(({ version, previous }) => [version?.value?.length ?? 0, previous?.value?.length ?? 0])
    .reduce((sum, length) => sum + length, 0);

/** The log has the writes below a prefix, each with what it replaced. Values are left out as heads leave them out. */
async function checkLog(store: Store, { model, back }: { model: StoreModel; back: number }): Promise<void> {
  const span = { afterRevision: Math.max(0, model.latestRevision - back), untilRevision: model.latestRevision };
  for (const request of [{ prefix: "/", firstByte: brace }, { prefix: "/a" }]) {
    const found: LoggedWrite[] = [];
    for (let { afterRevision } = span; afterRevision < span.untilRevision;) {
      const reading = store.readLog?.({ ...request, ...span, afterRevision, ...logBounds });
      if (reading === undefined) return;
      if (afterRevision < model.compactedRevision) return assert.rejects(reading, RevisionCompacted);
      const { writes, revision } = await reading;
      assert.ok(revision > afterRevision && revision <= span.untilRevision);
      assert.ok(writes.length <= logBounds.limit, "it reads no more writes than it is told");
      assert.ok(valueBytes(writes.slice(0, -1)) < logBounds.maximumBytes, "only the last write reaches the size");
      found.push(...writes);
      afterRevision = revision;
    }
    const shown = (at: string, revision: number): Entry | Head | undefined => {
      const entry = model.entryAt(at, revision);
      const isLeftOut = request.firstByte !== undefined && entry?.value[0] === request.firstByte;
      if (entry === undefined || !isLeftOut) return entry;
      return { key: at, modRevision: entry.modRevision, valueBytes: entry.value.length };
    };
    const expected = model
      .changesAfter(span.afterRevision)
      .filter(({ key: at }) => at.startsWith(request.prefix))
      .map(({ key: at, revision }) => {
        return { revision, key: at, version: shown(at, revision), previous: shown(at, revision - 1) };
      });
    assert.deepEqual(found, expected);
  }
}

async function runStep({ store, model, action }: { store: Store; model: StoreModel; action: Step }): Promise<void> {
  switch (action.do) {
    case "write": {
      const current = model.entryAt(action.key, model.latestRevision);
      const isRefused = action.isStale || (action.value === undefined && current === undefined);
      const expectedRevision = (current?.modRevision ?? 0) + (action.isStale ? model.step : 0);
      const value = action.value === undefined ? undefined : bytes(action.value);
      const result = await store.write({ key: action.key, value, expectedRevision });
      const expected = isRefused
        ? { isWritten: false, current }
        : { isWritten: true, revision: model.write(action.key, value) };
      assert.deepEqual(result, expected);
      return;
    }
    case "writeTogether": {
      // All expect the previous state: of several writes of one key, exactly one succeeds.
      const requests = action.writes.map(({ key: written, value }) => ({
        key: written,
        value: bytes(value),
        expectedRevision: model.entryAt(written, model.latestRevision)?.modRevision ?? 0,
      }));
      const results = await Promise.all(requests.map((request) => store.write(request)));
      const written = requests
        .map(({ key: at, value }, index) => ({ at, value, result: results[index] }))
        .flatMap(({ at, value, result }) => (result?.isWritten === true ? [{ at, value, ...result }] : []))
        .sort((one, other) => one.revision - other.revision);
      for (const { at, value, revision } of written) {
        if (model.step === singleSteps) assert.equal(revision, model.latestRevision + 1);
        assert.ok(revision > (model.changes.at(-1)?.revision ?? 0));
        model.writeAt(revision, { key: at, value });
      }
      assert.equal(await store.latestRevision(), model.latestRevision);
      assert.deepEqual(
        written.map(({ at }) => at).sort(),
        [...new Set(requests.map(({ key: wanted }) => wanted))].sort(),
      );
      for (const [index, { key: at }] of requests.entries()) {
        const result = results[index];
        if (result?.isWritten === false) assert.deepEqual(result.current, model.entryAt(at, model.latestRevision));
      }
      return;
    }
    case "range": {
      const revision = Math.max(0, model.latestRevision - action.back);
      const request = { start: action.start, end: action.end, revision };
      if (revision < model.compactedRevision) {
        await assert.rejects(store.range(request), RevisionCompacted);
        return;
      }
      const all = model.rangeAt(request);
      const entries = action.limit === 0 ? all : all.slice(0, action.limit);
      assert.deepEqual(await store.range({ ...request, limit: action.limit }), {
        entries,
        revision,
        hasMore: entries.length < all.length,
      });
      await checkHeads(store, { request: { ...request, limit: action.limit }, entries });
      return;
    }
    case "watch": {
      const afterRevision = Math.max(0, model.latestRevision - action.back);
      const expected = model.changesAfter(afterRevision);
      const taken = takeChanges(store, { afterRevision, count: expected.length });
      if (afterRevision < model.compactedRevision) await assert.rejects(taken, RevisionCompacted);
      else if (expected.length > 0) assert.deepEqual(await taken, expected);
      else taken.catch(() => {}); // ends with the store
      await checkLog(store, { model, back: action.back });
      return;
    }
    case "compact": {
      const revision = Math.max(0, model.latestRevision - action.back);
      await store.compact(revision);
      model.compact(revision);
      assert.equal(await store.compactedRevision(), model.compactedRevision);
    }
  }
}
