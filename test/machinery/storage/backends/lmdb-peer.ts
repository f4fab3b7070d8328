/**
 * Another process on the same directory: writes `count` keys, in groups, then increments `/counter` as often by
 * compare-and-swap, and prints the revisions that its own watch saw as JSON.
 */
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";

const [directory = "", name = "", count = "0"] = process.argv.slice(2);
const store = new LmdbStore({ directory, profile: "platform" });
const seen: number[] = [];
store.watch({
  afterRevision: 1,
  onChanges: (changes) => void seen.push(...changes.map(({ revision }) => revision)),
  onEnd: () => {},
});

async function create(index: number): Promise<void> {
  const result = await store.write({ key: `/${name}/${index}`, value: Buffer.from(name), expectedRevision: 0 });
  if (!result.isWritten) throw new Error("somebody else wrote this key");
}

async function increment(): Promise<void> {
  for (;;) {
    const { entries } = await store.range({ start: "/counter", end: "/counter0" });
    const value = Buffer.from(String(Number(entries[0]?.value.toString() ?? 0) + 1));
    const written = await store.write({ key: "/counter", value, expectedRevision: entries[0]?.modRevision ?? 0 });
    if (written.isWritten) return;
  }
}

const indexes = Array.from({ length: Number(count) }, (_, index) => index);
for (let from = 0; from < indexes.length; from += 10) await Promise.all(indexes.slice(from, from + 10).map(create));
for (const _index of indexes) await increment();
process.stdout.write(JSON.stringify(seen));
await store.close();
