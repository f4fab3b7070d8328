import { setTimeout as delay } from "node:timers/promises";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../../src/machinery/api/resource-type.ts";
import type { ApiClient } from "../../src/machinery/client/api-client.ts";
import { resourceReferences } from "../resource-references.ts";
import { LedgerWriter } from "../reliability/ledger-writer.ts";
import type { SeededRandom } from "../reliability/seeded-random.ts";
import { WatchFollower } from "../reliability/watch-follower.ts";
import type { Replica } from "./replica.ts";

const namespace = "faults";
const references = resourceReferences(namesFor("platform"));
const written: readonly [ResourceType, ...ResourceType[]] = [references.serviceAccounts, references.configMaps];
const pauseMilliseconds = 20;
const catchUpMilliseconds = 15_000;

interface Follower {
  readonly reference: ResourceType;
  readonly follower: WatchFollower;
}

/** Clients that write through all replicas and watch on each, whatever happens, and record the results. */
export class FaultLoad {
  readonly losses: string[] = [];
  readonly violations: string[] = [];
  readonly #replicas: readonly Replica[];
  readonly #writers: readonly LedgerWriter[];
  readonly #followers: readonly Follower[];
  readonly #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: {
    readonly replicas: readonly Replica[];
    readonly clients: number;
    readonly random: SeededRandom;
  }) {
    const { replicas, clients, random } = options;
    this.#replicas = replicas;
    this.#writers = Array.from(
      { length: clients },
      (_, index) =>
        new LedgerWriter({
          name: `client-${index}`,
          namespace,
          references: written,
          random: random.fork(),
          slotCount: 30,
        }),
    );
    this.#followers = replicas.flatMap(() =>
      written.map((reference) => ({ reference, follower: new WatchFollower(reference, namespace) })),
    );
  }

  get acknowledged(): number {
    return this.#writers.reduce((sum, { acknowledgedCount }) => sum + acknowledgedCount, 0);
  }

  /** Writes without an answer, or with a 5xx answer: each may have happened or not. */
  get unknown(): number {
    return this.#writers.reduce((sum, { unansweredCount, refusedCount }) => sum + unansweredCount + refusedCount, 0);
  }

  get events(): number {
    return this.#followers.reduce((sum, { follower }) => sum + follower.events.length, 0);
  }

  /** Watches that received a 410 and had to start again. */
  get expired(): number {
    return this.#followers.reduce((sum, { follower }) => sum + follower.relists, 0);
  }

  async start(): Promise<void> {
    const [first] = this.#replicas;
    const namespaces = first?.client.resource(references.namespaces);
    await namespaces?.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
      spec: {},
      status: {},
    });
    const following = this.#followers.map(({ follower }, index) =>
      this.#follow(follower, Math.floor(index / written.length)),
    );
    // What was written before a watch listed is not an event of that watch.
    while (!this.#followers.every(({ follower }) => follower.watches > 0)) await delay(pauseMilliseconds);
    const writing = this.#writers.map((writer, index) => this.#write(writer, index));
    this.#running = Promise.all([...following, ...writing]);
  }

  /** Resolves once a write through each of the replicas is acknowledged, with the milliseconds since a moment. */
  async recoveredAfter(since: number, replicas: readonly Replica[]): Promise<number[]> {
    return await Promise.all(
      replicas.map(async (replica) => {
        for (let attempt = 1; ; attempt++) {
          const name = `probe-${replica.name}-${Math.round(since)}-${attempt}`;
          try {
            await replica.client.resource(references.configMaps, namespace).create(configMap(name));
            return Math.round(performance.now() - since);
          } catch {
            await delay(pauseMilliseconds);
          }
        }
      }),
    );
  }

  /** Stops writing. Checks that every replica has the acknowledged writes, and that every watch has seen what happened. */
  async stopAndExamine(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    const stored = new Map<string, ApiObject>();
    for (const reference of written) {
      const lists = await Promise.all(this.#replicas.map(({ client }) => client.resource(reference, namespace).list()));
      const [first] = lists;
      for (const [index, list] of lists.entries()) {
        if (JSON.stringify(list.items) !== JSON.stringify(first?.items)) {
          this.violations.push(`${this.#replicas[index]?.name} lists other ${reference.plural} than the first replica`);
        }
      }
      for (const object of first?.items ?? []) stored.set(`${reference.plural}/${object.metadata.name}`, object);
    }
    const seenOf = await this.#examineWatches();
    for (const writer of this.#writers) {
      this.losses.push(...writer.reconcile(stored));
      this.violations.push(...writer.violations);
      for (const { resource, name, revision } of writer.takeAcknowledged()) {
        for (const [index, seen] of (seenOf.get(resource) ?? []).entries()) {
          if (!seen.has(`${name}@${revision}`)) {
            this.violations.push(`watch ${index} of ${resource} missed ${name} at ${revision} without a 410`);
          }
        }
      }
    }
  }

  /** By resource: what each watch without a 410 has seen. */
  async #examineWatches(): Promise<Map<string, Set<string>[]>> {
    const following = new AbortController();
    const seenOf = new Map<string, Set<string>[]>();
    const done = this.#followers.map(({ follower }, index) =>
      follower.follow(this.#clientOf(Math.floor(index / written.length)), following.signal),
    );
    for (const reference of written) {
      const resource = this.#clientOf(0).resource(reference, namespace);
      const fence = await resource.create({ ...configMap("fence"), kind: reference.kind });
      const { items } = await resource.list();
      const seen: Set<string>[] = [];
      for (const { follower, reference: followed } of this.#followers) {
        if (followed !== reference) continue;
        const revision = Number(fence.metadata.resourceVersion);
        if (!(await follower.reached(revision, { withinMilliseconds: catchUpMilliseconds }))) {
          this.violations.push(`a watch of ${reference.plural} came only to ${follower.revision} of ${revision}`);
        }
        this.violations.push(...follower.violations, ...follower.differencesFrom(items));
        if (follower.relists > 0) continue;
        seen.push(new Set(follower.events.map((event) => `${event.name}@${event.revision}`)));
      }
      seenOf.set(reference.plural, seen);
    }
    following.abort();
    await Promise.all(done);
    return seenOf;
  }

  #clientOf(index: number): ApiClient {
    const replica = this.#replicas[index] ?? this.#replicas[0];
    if (replica === undefined) throw new Error("there is no replica");
    return replica.client;
  }

  /** Uses one replica after the other, so that every client uses all of them. */
  async #write(writer: LedgerWriter, index: number): Promise<void> {
    const { signal } = this.#stopping;
    for (let turn = index; !signal.aborted; turn++) {
      const replica = this.#replicas[turn % this.#replicas.length];
      const turnSignal = AbortSignal.any([signal, AbortSignal.timeout(500)]);
      if (replica?.isUp === true) await writer.run(replica.client, turnSignal);
      await delay(pauseMilliseconds);
    }
  }

  /** Watches on its own replica. While that is down, continues on another replica from the same revision. */
  async #follow(follower: WatchFollower, index: number): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const own = this.#replicas[index];
      const replica = own?.isUp === true ? own : this.#replicas.find(({ isUp }) => isUp);
      if (replica !== undefined) {
        await follower.follow(replica.client, AbortSignal.any([signal, replica.signal]));
      }
      await delay(pauseMilliseconds);
    }
  }
}

const configMap = (name: string): ApiObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
