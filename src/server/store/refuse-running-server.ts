import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { controllersLeaseName } from "../../machinery/loops/elected-controllers.ts";
import { longestRestMilliseconds } from "../../machinery/loops/leader-election.ts";
import type { Sleep } from "../../machinery/api/clock.ts";
import type { Entry, Store } from "../../machinery/storage/store.ts";
import { storedEntries, storedEntry } from "../../machinery/storage/stored-entries.ts";

const checkIntervalMilliseconds = 1000;

/** The leases of every API group. */
const leases = { start: "/registry/leases", end: "/registry/leases0" };

export interface RunningServerCheckOptions {
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
  /** Called with a text for people that says why it takes long. */
  readonly onWait: (text: string) => void;
}

/**
 * Rejects with UsageError when a server uses a store. Replicas on etcd do not share a data directory with a lock, but each replica that
 * runs the loops, or would take them over, renews its lease again and again. The times in a lease come from another machine's clock, so
 * only changes of the lease count. Rejects with the reason of `signal` when that aborts.
 */
export async function refuseRunningServer(
  store: Store,
  { sleep, signal, onWait }: RunningServerCheckOptions,
): Promise<void> {
  const seen: Entry[] = [];
  for await (const entry of storedEntries(store, { ...leases, limit: 1000 })) {
    if (entry.key.endsWith(`/${controllersLeaseName}`)) seen.push(entry);
  }
  if (seen.length === 0) return; // no server has ever run its loops on this store
  onWait(`looking for ${longestRestMilliseconds / 1000} seconds whether a server still uses etcd`);
  for (let passed = 0; passed < longestRestMilliseconds; passed += checkIntervalMilliseconds) {
    await sleep(checkIntervalMilliseconds, signal);
    signal.throwIfAborted();
    for (const { key, modRevision } of seen) {
      if ((await storedEntry(store, key))?.modRevision !== modRevision)
        throw serverRuns("it writes the lease of its loops");
    }
  }
}

export const serverRuns = (why: string): UsageError =>
  new UsageError(`a server still uses the store (${why}): stop all servers and signet controllers, then try again`);
