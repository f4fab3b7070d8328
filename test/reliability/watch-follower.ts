import { setTimeout as delay } from "node:timers/promises";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../../src/machinery/api/resource-type.ts";
import type { ApiClient } from "../../src/machinery/client/api-client.ts";
import type { WatchEvent } from "../../src/machinery/client/watch-events.ts";

/** One event as received, without the object. */
export interface SeenEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly name: string;
  readonly revision: number;
}

/** An event as a follower saw it. */
export interface FollowedEvent extends SeenEvent {
  readonly uid: string;
  /** The `value` in the object's data, if its kind has data. */
  readonly value: string | undefined;
  /** By performance.now(). */
  readonly seenAt: number;
}

const retryMilliseconds = 20;

/**
 * A strict reader of watches. It keeps a copy of a collection from events alone, over every reconnection and restart,
 * and records every event that is out of order, missing or repeated. It lists only at the start and after a 410.
 */
export class WatchFollower {
  readonly violations: string[] = [];
  readonly events: FollowedEvent[] = [];
  /** Lists after a 410. */
  relists = 0;
  /** Watches that were opened. */
  watches = 0;
  /** The newest resourceVersion seen. */
  revision = 0;
  readonly #reference: ResourceType;
  readonly #namespace: string;
  readonly #copy = new Map<string, ApiObject>();
  readonly #waiters = new Set<{ readonly revision: number; readonly resolve: () => void }>();

  constructor(reference: ResourceType, namespace: string) {
    this.#reference = reference;
    this.#namespace = namespace;
  }

  /** Follows a server until `signal` aborts, whatever happens to it. Later calls continue where this one stopped. */
  async follow(client: ApiClient, signal: AbortSignal): Promise<void> {
    const resource = client.resource(this.#reference, this.#namespace);
    while (!signal.aborted) {
      try {
        if (this.revision === 0) this.#replace(await resource.list());
        this.watches += 1;
        const options = { resourceVersion: String(this.revision), allowsBookmarks: true };
        for await (const event of resource.watch(options, signal)) {
          if (signal.aborted) break;
          this.#take(event);
        }
      } catch (error) {
        if (error instanceof ApiError && error.code === 410) {
          this.relists += 1;
          this.revision = 0;
        }
      }
      await delay(retryMilliseconds, undefined, { signal }).catch(() => {});
    }
  }

  /** Resolves when everything up to a revision of this collection has arrived; false after the given time. */
  async reached(revision: number, { withinMilliseconds }: { readonly withinMilliseconds: number }): Promise<boolean> {
    if (this.revision >= revision) return true;
    const waiting = Promise.withResolvers<void>();
    this.#waiters.add({ revision, resolve: waiting.resolve });
    const timeout = new AbortController();
    const expiry = delay(withinMilliseconds, undefined, { signal: timeout.signal }).catch(() => {});
    await Promise.race([waiting.promise, expiry]);
    timeout.abort();
    return this.revision >= revision;
  }

  /** The differences between the copy and a new list. None, when no event was missed. */
  differencesFrom(items: readonly ApiObject[]): string[] {
    const fresh = new Map(items.map((object) => [object.metadata.name ?? "", versionOf(object)]));
    const names = new Set([...fresh.keys(), ...this.#copy.keys()]);
    return [...names].flatMap((name) => {
      const copied = this.#copy.get(name);
      const mine = copied && versionOf(copied);
      const theirs = fresh.get(name);
      return mine === theirs ? [] : [`${name}: the watch shows ${mine ?? "nothing"}, a list ${theirs ?? "nothing"}`];
    });
  }

  #replace({
    items,
    metadata,
  }: {
    readonly items: readonly ApiObject[];
    readonly metadata: { resourceVersion?: string };
  }) {
    this.#copy.clear();
    for (const object of items) this.#copy.set(object.metadata.name ?? "", object);
    this.#advance(Number(metadata.resourceVersion));
  }

  #take({ type, object }: WatchEvent): void {
    const seenAt = performance.now();
    const revision = versionOf(object);
    const name = object.metadata.name ?? "";
    if (type === "BOOKMARK") {
      if (revision < this.revision) this.violations.push(`a bookmark at ${revision} came after ${this.revision}`);
      return this.#advance(Math.max(revision, this.revision));
    }
    const previous = this.#copy.get(name);
    const fault = faultOf({ type, revision, seen: this.revision, previous });
    if (fault !== undefined) this.violations.push(`${type} ${name} at ${revision}: ${fault}`);
    if (type === "DELETED") this.#copy.delete(name);
    else this.#copy.set(name, object);
    this.events.push({ type, name, revision, uid: object.metadata.uid ?? "", value: valueOf(object), seenAt });
    this.#advance(revision);
  }

  #advance(revision: number): void {
    this.revision = revision;
    for (const waiter of this.#waiters) {
      if (waiter.revision > revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

/** Why an event cannot be the next one. Undefined when it can. */
function faultOf({
  type,
  revision,
  seen,
  previous,
}: {
  readonly type: SeenEvent["type"];
  readonly revision: number;
  readonly seen: number;
  readonly previous: ApiObject | undefined;
}): string | undefined {
  if (revision <= seen) return `revision ${seen} came before`;
  if (type === "ADDED" && previous !== undefined) return "it is there already";
  if (type !== "ADDED" && previous === undefined) return "it is not there";
  return undefined;
}

/** Objects with other data, or without data, have no such value. */
function valueOf({ data }: ApiObject & { readonly data?: unknown }): string | undefined {
  if (typeof data !== "object" || data === null || !("value" in data)) return undefined;
  return typeof data.value === "string" ? data.value : undefined;
}

const versionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion);
