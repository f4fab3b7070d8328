import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startServerProcess } from "../../../bench/processes/server-process.ts";
import type { ServerProcess } from "../../../bench/processes/server-process.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { resourceReferences } from "../../resource-references.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { clientOf } from "../client-of.ts";
import { LedgerWriter } from "../ledger-writer.ts";
import { SeededRandom } from "../seeded-random.ts";
import { WatchFollower } from "../watch-follower.ts";

export interface CrashOptions {
  readonly rounds: number;
  readonly clients: number;
  readonly seed: number;
  /** More flags of `signet serve`. */
  readonly flags?: readonly string[];
  readonly onRound?: (round: number, report: CrashReport) => void;
}

export interface CrashReport {
  rounds: number;
  /** Kills during a start, in addition to the one kill per round. */
  killsAtStart: number;
  acknowledged: number;
  /** Writes that were in progress when the process was killed. */
  unanswered: number;
  /** Events that the watches saw, over all restarts. */
  events: number;
  /** Acknowledged writes that are gone, and objects that are not whole. */
  readonly losses: string[];
  /** Everything else that must not happen: revisions that go back, gaps and doubles in watches, refused writes. */
  readonly violations: string[];
}

const namespace = "crash";
const references = resourceReferences(namesFor("platform"));
const written: readonly [ResourceType, ...ResourceType[]] = [references.serviceAccounts, references.configMaps];
const catchUpMilliseconds = 60_000;

/** Kills a server with SIGKILL while clients write to it, starts it again and looks at what is left, over and over. */
export async function runCrashRounds({
  rounds,
  clients,
  seed,
  flags = [],
  onRound,
}: CrashOptions): Promise<CrashReport> {
  const random = new SeededRandom(seed);
  const scratch = mkdtempSync(join(tmpdir(), "signet-crash-"));
  const scene: Scene = {
    dataDirectory: join(scratch, "data"),
    flags,
    random,
    writers: Array.from(
      { length: clients },
      (_, index) =>
        new LedgerWriter({ name: `client-${index}`, namespace, references: written, random: random.fork() }),
    ),
    followers: written.map((reference) => ({ reference, follower: new WatchFollower(reference, namespace) })),
    acknowledged: new Set(),
    highestRevision: 0,
    report: { rounds: 0, killsAtStart: 0, acknowledged: 0, unanswered: 0, events: 0, losses: [], violations: [] },
  };
  const { report, writers } = scene;
  try {
    for (let round = 1; round <= rounds; round++) {
      await runRound(scene);
      report.rounds = round;
      report.acknowledged = acknowledgedBy(writers);
      report.unanswered = writers.reduce((sum, { unansweredCount }) => sum + unansweredCount, 0);
      report.events = scene.followers.reduce((sum, { follower }) => sum + follower.events.length, 0);
      onRound?.(round, report);
    }
    await using server = await start(scene);
    await examine(scene, server);
    if ((await server.stop()) !== 0) report.violations.push("the server did not stop cleanly");
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  report.violations.push(...writers.flatMap(({ violations }) => violations));
  report.violations.push(...scene.followers.flatMap(({ follower }) => follower.violations));
  return report;
}

const acknowledgedBy = (writers: readonly LedgerWriter[]): number =>
  writers.reduce((sum, { acknowledgedCount }) => sum + acknowledgedCount, 0);

interface Scene {
  readonly dataDirectory: string;
  readonly flags: readonly string[];
  readonly random: SeededRandom;
  readonly writers: readonly LedgerWriter[];
  readonly followers: readonly { readonly reference: ResourceType; readonly follower: WatchFollower }[];
  /** `resource/name@revision` of every acknowledged create and update. */
  readonly acknowledged: Set<string>;
  /** The highest revision that any client has received. */
  highestRevision: number;
  readonly report: CrashReport;
}

async function runRound(scene: Scene): Promise<void> {
  const { random, writers, report } = scene;
  await using server = await start(scene);
  await examine(scene, server);

  const following = new AbortController();
  const watcher = clientOf(server);
  const followers = scene.followers.map(({ follower }) => follower.follow(watcher, following.signal));
  const clients = writers.map(() => clientOf(server));
  const writing = writers.map((writer, index) => writer.run(clients[index] ?? watcher, following.signal));
  let areWriting = true;
  const ended = Promise.all(writing).then(() => (areWriting = false));
  try {
    // On a busy machine, the first answer takes longer than any delay.
    await eventually("a write is acknowledged", () => !areWriting || acknowledgedBy(writers) > report.acknowledged);
    await delay(random.integer(0, 900));
  } finally {
    await server.kill();
    await ended;
    following.abort();
    await Promise.all(followers);
    for (const client of [watcher, ...clients]) client.close();
  }

  for (const writer of writers) {
    for (const { resource, name, revision } of writer.takeAcknowledged()) {
      const key = `${resource}/${name}@${revision}`;
      if (scene.acknowledged.has(key)) report.violations.push(`${key} was acknowledged twice`);
      scene.acknowledged.add(key);
      scene.highestRevision = Math.max(scene.highestRevision, revision);
    }
  }
  for (const { follower } of scene.followers)
    scene.highestRevision = Math.max(scene.highestRevision, follower.revision);
}

/** Starts the server. Sometimes kills it during the start and starts it again. */
async function start({ dataDirectory, flags, random, report }: Scene): Promise<ServerProcess> {
  if (random.next() < 0.2) {
    const afterMilliseconds = random.integer(10, 300);
    let child: ChildProcess | undefined;
    const starting = startServerProcess(dataDirectory, { flags, onSpawned: (process) => (child = process) });
    const ended = starting.then(
      (server) => server.kill(),
      () => undefined,
    );
    await delay(afterMilliseconds);
    child?.kill("SIGKILL");
    await ended;
    report.killsAtStart += 1;
  }
  return await startServerProcess(dataDirectory, { flags });
}

/**
 * Compares the stored objects, and what the watches delivered, with the acknowledged writes. No writes run during it.
 */
async function examine(scene: Scene, server: ServerProcess): Promise<void> {
  const { report } = scene;
  const client = clientOf(server);
  const following = new AbortController();
  try {
    await ensureNamespace(client);
    const stored = new Map<string, ApiObject>();
    for (const { reference } of scene.followers) {
      const { items, metadata } = await client.resource(reference, namespace).list();
      if (Number(metadata.resourceVersion) < scene.highestRevision) {
        report.violations.push(`the revision went from ${scene.highestRevision} back to ${metadata.resourceVersion}`);
      }
      for (const object of items) stored.set(`${reference.plural}/${object.metadata.name}`, object);
    }
    for (const writer of scene.writers) report.losses.push(...writer.reconcile(stored));

    const done = scene.followers.map(({ follower }) => follower.follow(client, following.signal));
    for (const { reference, follower } of scene.followers) {
      await examineWatch(scene, { client, reference, follower });
    }
    following.abort();
    await Promise.all(done);
  } finally {
    following.abort();
    client.close();
  }
}

async function examineWatch(
  { report, acknowledged, highestRevision }: Scene,
  { client, reference, follower }: { client: ApiClient; reference: ResourceType; follower: WatchFollower },
): Promise<void> {
  const resource = client.resource(reference, namespace);
  const fence = { apiVersion: "v1", kind: reference.kind, metadata: { name: "fence", annotations: { at: stamp() } } };
  const { metadata } = await ((await resource.find("fence")) === undefined
    ? resource.create(fence)
    : resource.update(fence));
  const revision = Number(metadata.resourceVersion);
  if (revision <= highestRevision) report.violations.push(`revision ${revision} was given out again`);
  if (!(await follower.reached(revision, { withinMilliseconds: catchUpMilliseconds }))) {
    report.violations.push(`a watch of ${reference.plural} did not come to ${revision}`);
  }
  report.violations.push(...follower.differencesFrom((await resource.list()).items));
  if (follower.relists > 0) report.violations.push(`a watch of ${reference.plural} could not be resumed`);
  const seen = new Set(follower.events.map((event) => `${reference.plural}/${event.name}@${event.revision}`));
  for (const key of acknowledged) {
    if (!key.startsWith(`${reference.plural}/`)) continue;
    if (!seen.has(key)) report.violations.push(`no watch saw ${key}`);
    acknowledged.delete(key);
  }
}

async function ensureNamespace(client: ApiClient): Promise<void> {
  const namespaces = client.resource(references.namespaces);
  if ((await namespaces.find(namespace)) !== undefined) return;
  await namespaces.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace }, spec: {}, status: {} });
}

let stamps = 0;
const stamp = (): string => String(++stamps);
