import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startServerProcess } from "../../../bench/processes/server-process.ts";
import type { ServerProcess } from "../../../bench/processes/server-process.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { resourceReferences } from "../../resource-references.ts";
import { clientOf } from "../client-of.ts";
import { startCuttableProxy } from "./cuttable-proxy.ts";
import type { CuttableProxy } from "./cuttable-proxy.ts";
import { InformerRecord } from "./informer-record.ts";
import { LedgerWriter } from "../ledger-writer.ts";
import { SeededRandom } from "../seeded-random.ts";
import { compactEverything, runSoakLoad } from "./soak-load.ts";
import { WatchFollower } from "../watch-follower.ts";
import type { SeenEvent } from "../watch-follower.ts";

export interface SoakOptions {
  readonly seconds: number;
  readonly informers: number;
  readonly writers: number;
  readonly seed: number;
  /** More flags of `signet serve`. */
  readonly flags?: readonly string[];
}

export interface SoakReport {
  readonly writes: number;
  /** All events that the informers received together. */
  readonly events: number;
  readonly watches: number;
  /** Lists: the first of each informer, and one after each 410. */
  readonly lists: number;
  readonly cuts: number;
  readonly compactions: number;
  /** Resident memory in MiB: with full histories (undefined: not reached), at the end, and after all watches have ended. */
  readonly residentMebibytes: {
    readonly steady: number | undefined;
    readonly end: number;
    readonly afterwards: number;
  };
  readonly violations: readonly string[];
}

const namespace = "default";
const { configMaps } = resourceReferences(namesFor("platform"));

/**
 * Informers with unreliable connections follow a collection that other clients write to while its history is compacted.
 * After a fifth of the time the server is restarted without any history that they know, so all of them must list again.
 */
export async function runSoak({ seconds, informers, writers, seed, flags = [] }: SoakOptions): Promise<SoakReport> {
  const random = new SeededRandom(seed);
  const scratch = mkdtempSync(join(tmpdir(), "signet-soak-"));
  const dataDirectory = join(scratch, "data");
  const server = await startServerProcess(dataDirectory, { flags });
  const scene: Scene = { server, flags, dataDirectory, steady: await proxyOf(server), shaky: await proxyOf(server) };
  const clients: ApiClient[] = [];
  const newClient = (proxy: CuttableProxy): ApiClient => {
    const { caCertificates } = scene.server;
    const client = clientOf({ url: `https://127.0.0.1:${proxy.port}`, caCertificates });
    clients.push(client);
    return client;
  };
  const client = newClient(scene.steady);
  const following = new AbortController();
  try {
    const records = Array.from(
      { length: informers },
      () => new InformerRecord(newClient(scene.shaky), { reference: configMaps, namespace }),
    );
    // Its connection is not cut.
    const reference = new WatchFollower(configMaps, namespace);
    const followed = reference.follow(client, following.signal);
    await Promise.all(records.map(({ informer }) => informer.start(following.signal)));

    const writing = Array.from({ length: writers }, (_, index) => ({
      writer: new LedgerWriter({
        name: `client-${index}`,
        namespace,
        references: [configMaps],
        random: random.fork(),
        slotCount: 20,
      }),
      client: newClient(scene.steady),
    }));
    let steadyMebibytes: number | undefined;
    const load = { dataDirectory, proxy: scene.shaky, random, writers: writing };
    const first = await runSoakLoad({ ...load, seconds: seconds / 5, onSteady: () => {} });
    await restartUnseen(scene, { client, reference });
    const second = await runSoakLoad({
      ...load,
      seconds: (seconds * 4) / 5,
      onSteady: () => (steadyMebibytes = scene.server.residentMebibytes()),
    });

    const violations = writing.flatMap(({ writer }) => writer.violations);
    if (writing.some(({ writer }) => writer.unansweredCount + writer.refusedCount > 0)) {
      violations.push("a write was not answered");
    }
    const last = await writeFence(client, "end");
    if (!(await reference.reached(last, { withinMilliseconds: 100_000 }))) violations.push("the watch fell behind");
    const { items } = await client.resource<ApiObject>(configMaps, namespace).list();
    await settled(() => records.every(({ informer }) => informer.get(`${namespace}/end`) !== undefined));
    const allEvents = everyEvent([reference.events, ...records.map(({ events }) => events)]);
    for (const record of records) {
      violations.push(...record.violations, ...record.copyFaults(items), ...record.eventFaults(allEvents));
    }
    violations.push(...reference.violations, ...reference.differencesFrom(items));

    const end = scene.server.residentMebibytes();
    following.abort();
    await followed;
    await settled(async () => (await openWatches(client)) === 0);
    if ((await openWatches(client)) > 0) violations.push("the server still holds watches without readers");
    return {
      writes: writing.reduce((sum, { writer }) => sum + writer.acknowledgedCount, 0),
      events: records.reduce((sum, record) => sum + record.events.length, 0),
      watches: records.reduce((sum, record) => sum + record.watches, 0),
      lists: records.reduce((sum, record) => sum + record.lists, 0),
      cuts: first.cuts + second.cuts,
      compactions: first.compactions + second.compactions,
      residentMebibytes: { steady: steadyMebibytes, end, afterwards: scene.server.residentMebibytes() },
      violations,
    };
  } finally {
    following.abort();
    for (const one of clients) one.close();
    await Promise.all([scene.steady.close(), scene.shaky.close(), scene.server.stop()]);
    rmSync(scratch, { recursive: true, force: true });
  }
}

interface Scene {
  server: ServerProcess;
  readonly flags: readonly string[];
  readonly dataDirectory: string;
  readonly steady: CuttableProxy;
  readonly shaky: CuttableProxy;
}

const proxyOf = ({ url }: ServerProcess): Promise<CuttableProxy> => startCuttableProxy(portOf(url));
const portOf = (url: string): number => Number(new URL(url).port);

/** All delivered events, in revision order: every watch of that time must have received them. */
function everyEvent(told: readonly (readonly SeenEvent[])[]): SeenEvent[] {
  const byRevision = new Map(told.flatMap((events) => events.map((event) => [event.revision, event] as const)));
  return [...byRevision.values()].sort((one, other) => one.revision - other.revision);
}

/** Cuts off the informers, writes, compacts all history and restarts the server. */
async function restartUnseen(
  scene: Scene,
  { client, reference }: { readonly client: ApiClient; readonly reference: WatchFollower },
): Promise<void> {
  scene.shaky.detach();
  await reference.reached(await writeFence(client, "unseen"), { withinMilliseconds: 100_000 });
  await compactEverything(scene.dataDirectory);
  scene.steady.detach();
  await scene.server.stop();
  scene.server = await startServerProcess(scene.dataDirectory, { flags: scene.flags });
  for (const proxy of [scene.steady, scene.shaky]) proxy.target(portOf(scene.server.url));
}

/** The resourceVersion of the last write. */
async function writeFence(client: ApiClient, name: string): Promise<number> {
  const fence: ApiObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
  const { metadata } = await client.resource<ApiObject>(configMaps, namespace).create(fence);
  return Number(metadata.resourceVersion);
}

/** The server's own count of watches. */
async function openWatches(client: ApiClient): Promise<number> {
  const metrics = await client.text("/metrics");
  return Number(/^apiserver_longrunning_requests\S* (\d+)/m.exec(metrics)?.[1] ?? 0);
}

/** Waits a limited time for a condition. If it still does not hold, the checks will find it. */
async function settled(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400 && !(await holds()); tries++) await delay(50);
}
