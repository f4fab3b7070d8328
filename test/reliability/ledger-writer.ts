import { setTimeout as delay } from "node:timers/promises";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../../src/machinery/api/resource-type.ts";
import type { ApiClient } from "../../src/machinery/client/api-client.ts";
import { seal, sealOf } from "./sealed-object.ts";
import type { SeededRandom } from "./seeded-random.ts";

const retryMilliseconds = 20;

/** The possible content of an object: the sequence number of a write, or undefined when the object does not exist. */
type Content = number | undefined;

interface Slot {
  readonly reference: ResourceType;
  readonly name: string;
  /** The result of the last acknowledged write. */
  acknowledged: Content;
  /** Writes that were sent later and never answered. Each may have happened or not. */
  unanswered: Content[];
}

export interface LedgerWriterOptions {
  readonly name: string;
  readonly namespace: string;
  readonly references: readonly [ResourceType, ...ResourceType[]];
  readonly random: SeededRandom;
  /** The maximum number of its objects. Default 6. */
  readonly slotCount?: number;
}

/** An acknowledged create or update. */
export interface AcknowledgedWrite {
  readonly resource: string;
  readonly name: string;
  readonly revision: number;
}

/**
 * A client that creates, updates and deletes its own objects, and records which writes the server acknowledged, so that
 * a test can verify them after a crash.
 */
export class LedgerWriter {
  /** Answers that no fault explains: another writer's data, a stale read, a bug. */
  readonly violations: string[] = [];
  /** Since the last `takeAcknowledged`. */
  #acknowledgedWrites: AcknowledgedWrite[] = [];
  acknowledgedCount = 0;
  unansweredCount = 0;
  /** Answers of 5xx: the server reported that it cannot accept the write. */
  refusedCount = 0;
  readonly #options: LedgerWriterOptions;
  readonly #slots: readonly Slot[];
  #sequence = 0;

  constructor(options: LedgerWriterOptions) {
    this.#options = options;
    const { references, name, slotCount = 6 } = options;
    this.#slots = Array.from({ length: slotCount }, (_, index) => ({
      reference: references[index % references.length] ?? references[0],
      name: `${name}-${index}`,
      acknowledged: undefined,
      unanswered: [],
    }));
  }

  /** Writes, one request after the other, until `signal` aborts or the server is gone. */
  async run(client: ApiClient, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const slot = this.#slots[this.#options.random.integer(0, this.#slots.length - 1)];
      if (slot === undefined || slot.unanswered.length > 0) return;
      if (!(await this.#write(client, slot))) return;
    }
  }

  /**
   * Like `run`, but continues when an answer does not arrive: it reads the stored state, takes that as the new state,
   * and returns what was lost. `client` may lose its connection and some process behind it, but not the whole server.
   */
  async runThroughFaults(client: ApiClient, signal: AbortSignal): Promise<string[]> {
    const losses: string[] = [];
    while (!signal.aborted) {
      await this.run(client, signal);
      if (this.#slots.some(({ unanswered }) => unanswered.length > 0)) {
        losses.push(...this.reconcile(await this.#readStored(client)));
      }
    }
    return losses;
  }

  async #readStored(client: ApiClient): Promise<Map<string, ApiObject>> {
    const { references, namespace } = this.#options;
    for (;;) {
      try {
        const stored = new Map<string, ApiObject>();
        for (const reference of references) {
          const { items } = await client.resource(reference, namespace).list();
          for (const object of items) stored.set(`${reference.plural}/${object.metadata.name}`, object);
        }
        return stored;
      } catch (error) {
        if (error instanceof ApiError && error.code < 500) throw error;
        await delay(retryMilliseconds);
      }
    }
  }

  /** Creates and updates that were acknowledged since the last call. */
  takeAcknowledged(): AcknowledgedWrite[] {
    const taken = this.#acknowledgedWrites;
    this.#acknowledgedWrites = [];
    return taken;
  }

  /**
   * Compares the records with the stored objects, by resource and name, and continues from there. Returns each object
   * that contains neither the last acknowledged write nor a later one.
   */
  reconcile(stored: ReadonlyMap<string, ApiObject>): string[] {
    const losses: string[] = [];
    for (const slot of this.#slots) {
      const key = `${slot.reference.plural}/${slot.name}`;
      const object = stored.get(key);
      const found = object && sealOf(object);
      if (typeof found === "string") losses.push(`${key} is ${found}`);
      else if (found !== slot.acknowledged && !slot.unanswered.includes(found)) {
        losses.push(`${key} holds ${text(found)}, acknowledged was ${text(slot.acknowledged)}`);
      }
      slot.acknowledged = typeof found === "string" ? undefined : found;
      slot.unanswered = [];
    }
    return losses;
  }

  /** False when there was no answer: the server is gone. */
  async #write(client: ApiClient, slot: Slot): Promise<boolean> {
    const { random, namespace } = this.#options;
    const resource = client.resource(slot.reference, namespace);
    const isDelete = slot.acknowledged !== undefined && random.next() < 0.2;
    const sequence = ++this.#sequence;
    const next = isDelete ? undefined : sequence;
    const annotations = seal({ name: slot.name, sequence, fillerLength: fillerLength(random) });
    try {
      let revision: number | undefined;
      if (isDelete) await resource.delete(slot.name);
      else if (slot.acknowledged === undefined) {
        revision = versionOf(await resource.create(bare(slot, annotations)));
      } else if (random.next() < 0.5) {
        revision = versionOf(await resource.patch(slot.name, { body: { metadata: { annotations } } }));
      } else {
        revision = versionOf(await resource.update(bare(slot, annotations)));
      }
      slot.acknowledged = next;
      this.acknowledgedCount += 1;
      if (revision !== undefined) {
        this.#acknowledgedWrites.push({ resource: slot.reference.plural, name: slot.name, revision });
      }
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code < 500) {
        this.violations.push(
          `${slot.reference.plural}/${slot.name}: ${error.code} ${error.message} (${sequence}: ${text(slot.acknowledged)} -> ${text(next)})`,
        );
        return true;
      }
      slot.unanswered.push(next);
      if (error instanceof ApiError) this.refusedCount += 1;
      else this.unansweredCount += 1;
      return false;
    }
  }
}

const bare = ({ name, reference }: Slot, annotations: Record<string, string>): ApiObject => ({
  apiVersion: reference.version,
  kind: reference.kind,
  metadata: { name, annotations },
});

/** Usually small. Some need several pages of the store. */
const fillerLength = (random: SeededRandom): number =>
  random.next() < 0.05 ? random.integer(5_000, 60_000) : random.integer(0, 300);

const versionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion);

const text = (content: Content): string => (content === undefined ? "nothing" : `write ${content}`);
