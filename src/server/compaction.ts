import type { Logger } from "pino";
import { periodically } from "../machinery/api/periodically.ts";
import type { Store } from "../machinery/storage/store.ts";

/** Like kube-apiserver: every five minutes, compact what is older than five minutes. */
const keptMilliseconds = 5 * 60_000;

export interface CompactionOptions {
  readonly store: Store;
  readonly log: Logger;
}

/** Compacts old revisions at intervals: up to the newest revision of the previous interval. */
export function startCompaction({ store, log }: CompactionOptions): { stop(): void } {
  let previous: number | undefined;
  return periodically({
    milliseconds: keptMilliseconds,
    async task() {
      const latest = await store.latestRevision();
      if (previous !== undefined && previous > 0) await store.compact(previous);
      previous = latest;
    },
    onFailure: (error) => log.error({ err: error }, "compaction failed, will retry"),
  });
}
