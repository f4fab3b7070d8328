import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient } from "../../src/client/api-client.ts";
import { LmdbStore } from "../../src/storage/backends/lmdb.ts";
import type { CuttableProxy } from "./cuttable-proxy.ts";
import type { LedgerWriter } from "./ledger-writer.ts";
import type { SeededRandom } from "./seeded-random.ts";

const cutIntervalMilliseconds = 150;
const compactionIntervalMilliseconds = 400;

export interface SoakLoad {
  readonly seconds: number;
  readonly dataDirectory: string;
  /** Its connections are cut: a tenth of them at a time, now and then all. */
  readonly proxy: CuttableProxy;
  readonly random: SeededRandom;
  readonly writers: readonly { readonly writer: LedgerWriter; readonly client: ApiClient }[];
  /** Called when 60 % of the time has passed: every bounded history is full then. */
  readonly onSteady: () => void;
}

/** Writes for some time while connections are cut and history is forgotten. */
export async function runSoakLoad({ seconds, dataDirectory, proxy, random, writers, onSteady }: SoakLoad) {
  const stopping = AbortSignal.timeout(seconds * 1000);
  const pause = (milliseconds: number): Promise<void> =>
    delay(milliseconds, undefined, { signal: stopping }).catch(() => {});
  const counts = { cuts: 0, compactions: 0 };
  const cutting = async (): Promise<void> => {
    while (!stopping.aborted) {
      await pause(cutIntervalMilliseconds);
      const share = random.next() < 0.1 ? 1 : 0.1;
      counts.cuts += proxy.cut(() => random.next() < share);
    }
  };
  const compacting = async (): Promise<void> => {
    while (!stopping.aborted) {
      await pause(compactionIntervalMilliseconds);
      await compactEverything(dataDirectory);
      counts.compactions += 1;
    }
  };
  const steady = pause(seconds * 600).then(onSteady);
  const writing = writers.map(({ writer, client }) => writer.run(client, stopping));
  await Promise.all([cutting(), compacting(), steady, ...writing]);
  return counts;
}

/** As another process on the same file: forgets all history up to now. */
export async function compactEverything(dataDirectory: string): Promise<void> {
  const store = new LmdbStore({ directory: join(dataDirectory, "store"), profile: "platform" });
  await store.compact(store.latestRevision());
  await store.close();
}
