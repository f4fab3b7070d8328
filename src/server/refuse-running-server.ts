import { UsageError } from "../machinery/command-line/flag.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Store } from "../machinery/storage/store.ts";

/**
 * Rejects with UsageError while a server is seen to use a store. Replicas on etcd do not share a data directory: the lease of their
 * loops shows that one runs.
 */
export async function refuseRunningServer(store: Store, clock: Clock): Promise<void> {
  const { entries } = await store.range({ start: "/registry/leases", end: "/registry/leases0" });
  for (const { key, value } of entries) {
    if (!key.endsWith("/signet-controllers")) continue;
    const { spec } = JSON.parse(value.toString("utf8")) as StoredLease; // validated when it was written
    const end = Date.parse(spec?.renewTime ?? "") + (spec?.leaseDurationSeconds ?? 0) * 1000;
    if ((spec?.holderIdentity ?? "") !== "" && end > clock.now())
      throw serverRuns(`${spec?.holderIdentity} holds its lease`);
  }
}

interface StoredLease {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

export const serverRuns = (why: string): UsageError =>
  new UsageError(`a server still uses the store (${why}): stop all servers and signet controllers, then try again`);
