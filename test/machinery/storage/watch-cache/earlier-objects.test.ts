import { inKeyRange } from "../../../../src/machinery/storage/key-range.ts";
import type { KeyRange } from "../../../../src/machinery/storage/key-range.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { ChangeFeed } from "../../../../src/machinery/storage/change-feed.ts";
import { WatchCache } from "../../../../src/machinery/storage/watch-cache/watch-cache.ts";
import { put } from "../store-contract.ts";

interface Thing {
  readonly key: string;
  readonly text: string;
}

const prefix = "/registry/things/";
const everything = { start: prefix, end: "/registry/things0" };

describe("the objects of an earlier revision", () => {
  const name = fc.constantFrom("a", "b", "c", "c/d", "\u{ffff}", "\u{1f600}");
  const write = fc.record({ name, text: fc.option(fc.constantFrom("x", "y"), { nil: undefined }) });

  it("are listed in the order of their keys, as far as the history reaches back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { maxLength: 20 }),
        fc.record({ historyLength: fc.nat(8), limit: fc.nat(4), start: name, end: name }),
        async (writes, { historyLength, limit, ...part }) => {
          const store = new MemoryStore();
          const feed = new ChangeFeed({ store });
          const cache = new WatchCache<Thing>({
            feed,
            prefix,
            historyLength,
            decode: ({ key, value }) => ({ key, text: value.toString() }),
          });
          await cache.start();
          const states = new Map([[cache.revision, new Map<string, string>()]]);
          const state = new Map<string, string>();
          for (const { name: one, text } of writes) {
            const key = prefix + one;
            if (text === undefined && !state.has(key)) continue;
            const revision = await put(store, key, text);
            if (text === undefined) state.delete(key);
            else state.set(key, text);
            states.set(revision, new Map(state));
          }
          for (const range of [everything, { start: prefix + part.start, end: prefix + part.end }]) {
            for (const [revision, known] of states) {
              const found = cache.objectsAt(revision, { ...range, limit });
              assert.equal(found === undefined, revision < cache.oldestRevision);
              if (found === undefined) continue;
              const expected = inRange(known, range);
              const texts = Array.from(found, ({ key, text }) => ({ key, text }));
              assert.deepEqual(
                limit === 0 ? texts : texts.slice(0, limit),
                limit === 0 ? expected : expected.slice(0, limit),
              );
            }
          }
          assert.equal(cache.objectsAt(cache.revision + 1, everything), undefined);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** What a look at each key finds. */
function inRange(state: ReadonlyMap<string, string>, range: KeyRange): Thing[] {
  const isInRange = inKeyRange(range);
  return [...state]
    .map(([key, text]) => ({ key, text }))
    .filter(({ key }) => isInRange(key))
    .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
}
