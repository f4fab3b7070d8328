import type { Logger } from "pino";
import type { Clock } from "../machinery/api/clock.ts";
import { periodically } from "../machinery/api/periodically.ts";
import type { Store } from "../machinery/storage/store.ts";

/** As kube-apiserver: what is older than five minutes is forgotten, and looked at every five. */
const keptMilliseconds = 5 * 60_000;

export interface CompactionOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Forgets old revisions at intervals: those that were the newest at the interval before. */
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
