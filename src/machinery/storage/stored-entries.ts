import { keyAfter, singleKeyRange } from "./key-range.ts";
import type { Entry, RangeRequest, Store } from "./store.ts";

/** The newest entry of a key. Rejects as `range` does. */
export async function storedEntry(store: Pick<Store, "range">, key: string): Promise<Entry | undefined> {
  const { entries } = await store.range(singleKeyRange(key));
  return entries[0];
}

/** The entries of a range, read in pages of `limit` entries. Without a revision, each page shows the newest state. */
export async function* storedEntries(
  store: Pick<Store, "range">,
  request: RangeRequest & { readonly limit: number },
): AsyncIterable<Entry> {
  for (let { start } = request; ;) {
    const { entries, hasMore } = await store.range({ ...request, start });
    yield* entries;
    const last = entries.at(-1);
    if (!hasMore || last === undefined) return;
    start = keyAfter(last.key);
  }
}
