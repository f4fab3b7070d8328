import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import type { CuttableProxy } from "./cuttable-proxy.ts";
import type { LedgerWriter } from "../ledger-writer.ts";
import type { SeededRandom } from "../seeded-random.ts";

const cutIntervalMilliseconds = 150;
const steadyWrites = 12_000;
const compactionIntervalMilliseconds = 400;

export interface SoakLoad {
  readonly seconds: number;
  readonly dataDirectory: string;
  /** The proxy that cuts its connections: a tenth of them at a time, sometimes all. */
  readonly proxy: CuttableProxy;
  readonly random: SeededRandom;
  readonly writers: readonly { readonly writer: LedgerWriter; readonly client: ApiClient }[];
  /** Called once enough has been written to fill the server's bounded history (10,000 events). */
  readonly onSteady: () => void;
}

/** Writes for some time while connections are cut and history is compacted. */
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
    // Compacts like the server does, but from another process on the same file: up to the newest revision at the last
    // compaction.
    const store = openStore(dataDirectory);
    for (let previous = store.latestRevision(); !stopping.aborted; counts.compactions++) {
      await pause(compactionIntervalMilliseconds);
      const latest = store.latestRevision();
      await store.compact(previous);
      previous = latest;
    }
    await store.close();
  };
  const written = (): number => writers.reduce((sum, { writer }) => sum + writer.acknowledgedCount, 0);
  const writtenBefore = written();
  const steadying = async (): Promise<void> => {
    while (written() - writtenBefore < steadyWrites) {
      if (stopping.aborted) return;
      await pause(100);
    }
    onSteady();
  };
  const writing = writers.map(({ writer, client }) => writer.run(client, stopping));
  await Promise.all([cutting(), compacting(), steadying(), ...writing]);
  return counts;
}

/** Compacts all history up to now. */
export async function compactEverything(dataDirectory: string): Promise<void> {
  const store = openStore(dataDirectory);
  await store.compact(store.latestRevision());
  await store.close();
}

const openStore = (dataDirectory: string): LmdbStore =>
  new LmdbStore({ directory: join(dataDirectory, "store"), profile: "platform" });
