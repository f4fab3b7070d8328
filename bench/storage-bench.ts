/**
 * Measures the LMDB store and the watch cache in a new directory (the first argument, or the system's temporary one) and
 * prints a table: `node bench/storage-bench.ts [directory]`. The disk under the directory decides the durable writes.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LmdbStore } from "../src/machinery/storage/backends/lmdb.ts";
import { ChangeFeed } from "../src/machinery/storage/change-feed.ts";
import type { Entry } from "../src/machinery/storage/store.ts";
import { WatchCache } from "../src/machinery/storage/watch-cache.ts";
import { repeatConcurrently } from "./repeat-concurrently.ts";

const prefix = "/registry/serviceaccounts/";
const everything = { start: prefix, end: "/registry/serviceaccounts0" };
const createCount = 50_000;
const value = Buffer.alloc(500, "v");
const keyOf = (index: number): string => `${prefix}default/account-${String(index).padStart(7, "0")}`;
const rows: { measure: string; result: string }[] = [];

async function measure(name: string, times: number, work: () => Promise<void> | void): Promise<void> {
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const each = (seconds / times) * 1e6;
  rows.push({
    measure: name,
    result:
      times === 1
        ? `${(seconds * 1000).toFixed(1)} ms`
        : `${Math.round(times / seconds)}/s (${each.toFixed(1)} µs each)`,
  });
}

const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), "signet-bench-"));
const store = new LmdbStore({ directory, profile: "platform" });
const create = (index: number): Promise<unknown> => store.write({ key: keyOf(index), value, expectedRevision: 0 });

let longestTurn = 0;
let lastTurn = performance.now();
const turns = setInterval(() => {
  longestTurn = Math.max(longestTurn, performance.now() - lastTurn);
  lastTurn = performance.now();
}, 1);
await measure("durable creates of 500 bytes, 64 in flight", createCount, () =>
  repeatConcurrently({ times: createCount, concurrency: 64 }, create),
);
rows.push({ measure: "longest event turn meanwhile", result: `${longestTurn.toFixed(1)} ms` });
await measure("durable creates of 500 bytes, 1 in flight", 500, () =>
  repeatConcurrently({ times: 500, concurrency: 1 }, (index) => create(createCount + index)),
);
clearInterval(turns);
await measure("latestRevision()", 200_000, () => {
  for (let index = 0; index < 200_000; index++) store.latestRevision();
});
await measure("range of 1 key", 50_000, () =>
  repeatConcurrently({ times: 50_000, concurrency: 1 }, (index) =>
    store.range({ start: keyOf(index), end: keyOf(index + 1) }),
  ),
);
await measure("range of 10,000 keys", 1, async () => void (await store.range({ ...everything, limit: 10_000 })));
await measure("the same, 30,000 revisions ago", 1, async () => {
  await store.range({ ...everything, limit: 10_000, revision: store.latestRevision() - 30_000 });
});

const feed = new ChangeFeed({ store });
const cache = new WatchCache<Entry>({
  feed,
  prefix,
  historyLength: 10_000,
  keyOf: ({ key }) => key,
  decode: (entry) => entry,
});
await measure(`start of a cache of ${createCount + 500} keys`, 1, () => cache.start());
await measure("cache get", 1_000_000, () => {
  for (let index = 0; index < 1_000_000; index++) cache.get(keyOf(index % createCount));
});
await measure("cache range of 10,000 keys", 1, () => void cache.range({ ...everything, limit: 10_000 }));
await measure("durable creates, 64 in flight, with the cache", createCount, () =>
  repeatConcurrently({ times: createCount, concurrency: 64 }, (index) => create(200_000 + index)),
);
await measure("compaction of 50,000 revisions", 1, () => store.compact(store.latestRevision() - createCount));
rows.push({ measure: "file", result: `${(statSync(join(directory, "store.mdb")).size / 2 ** 20).toFixed(1)} MiB` });
rows.push({ measure: "resident memory", result: `${(process.memoryUsage.rss() / 2 ** 20).toFixed(0)} MiB` });

feed.close();
await store.close();
rmSync(directory, { recursive: true });
for (const { measure: name, result } of rows) console.log(`${name.padEnd(50)} ${result}`);
