import type { AdmissionRule } from "../api/attributes.ts";
import { notFound, serviceUnavailable, timeout, tooLarge } from "../api/api-error.ts";
import type { Named } from "../api/api-error.ts";
import { systemClock } from "../api/clock.ts";
import type { Clock } from "../api/clock.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { WatchCache } from "../storage/watch-cache.ts";
import type { ChangeFeed } from "../storage/change-feed.ts";
import { StoreUnavailable, ValueTooLarge, WriteOutcomeUnknown } from "../storage/store.ts";
import type { Entry, Store, WriteRequest, WriteResult } from "../storage/store.ts";
import type { Admitted } from "./admission.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import { parseResourceVersion, tooLargeResourceVersion } from "./resource-version.ts";
import { resourcePrefix, storageKey } from "./storage-key.ts";
import type { ObjectName } from "./storage-key.ts";
import { kindPrefix, StoredObject } from "./stored-object.ts";
import type { KindPrefix } from "./stored-object.ts";

export interface RegistryOptions<T extends ApiObject> {
  readonly definition: ResourceDefinition<T>;
  readonly store: Store;
  /** Follows the same store; shared by all registries of the process. */
  readonly feed: ChangeFeed;
  /** In order: every `admit`, and after validation every `validate`. */
  readonly admission?: readonly AdmissionRule[];
  readonly clock?: Clock;
  /** Versions that are kept in memory for watches that start in the past. */
  readonly historyLength?: number;
  /** How long a read waits for a revision that does not exist yet. */
  readonly futureWaitMilliseconds?: number;
}

/**
 * The objects of one resource: its definition, its place in the store and its copy in memory. The verbs are functions
 * of it, a file each: `createObject`, `updateObject`, `patchObject`, `deleteObject`, `deleteCollection`, `listObjects`
 * and `watchObjects`.
 */
export class ResourceRegistry<T extends ApiObject = ApiObject> {
  readonly definition: ResourceDefinition<T>;
  readonly store: Store;
  readonly cache: WatchCache<StoredObject<T>>;
  readonly admission: readonly AdmissionRule[];
  readonly clock: Clock;
  readonly futureWaitMilliseconds: number;
  /** `v1`, `certificates.platform.io/v1`. */
  readonly apiVersion: string;
  /** The resource as errors name it. */
  readonly resource: Named;
  /** The kind as validation errors name it. */
  readonly kind: Named;
  readonly #prefix: KindPrefix;

  constructor({
    definition,
    store,
    feed,
    admission = [],
    clock = systemClock,
    historyLength = 10_000,
    futureWaitMilliseconds = 3000,
  }: RegistryOptions<T>) {
    const { group, version, kind, plural } = definition;
    this.definition = definition;
    this.store = store;
    this.admission = admission;
    this.clock = clock;
    this.futureWaitMilliseconds = futureWaitMilliseconds;
    this.apiVersion = group === "" ? version : `${group}/${version}`;
    this.resource = { group, resource: plural };
    this.kind = { group, resource: kind };
    this.#prefix = kindPrefix({ kind, apiVersion: this.apiVersion });
    this.cache = new WatchCache({
      feed,
      prefix: resourcePrefix(definition),
      decode: (entry) => this.fromEntry(entry),
      historyLength,
    });
  }

  /** Loads what is stored. Start the registries of a process together. */
  start(): Promise<void> {
    return this.cache.start();
  }

  /**
   * The object as every acknowledged write left it. Throws or rejects with 404. It answers at once, without a promise,
   * when the copy in memory is current.
   */
  get(where: ObjectName, resourceVersion = ""): StoredObject<T> | Promise<StoredObject<T>> {
    const waiting = resourceVersion === "" ? this.catchUp() : this.#waitForVersion(resourceVersion);
    return waiting === undefined ? this.#existing(where) : waiting.then(() => this.#existing(where));
  }

  /** What the copy in memory holds now: for look-ups that may be a moment old. */
  peek(where: ObjectName): StoredObject<T> | undefined {
    const key = storageKey(this.definition, where);
    return key === undefined ? undefined : this.cache.get(key);
  }

  /** Undefined when the copy in memory shows every acknowledged write already. */
  catchUp(): Promise<void> | undefined {
    const latest = this.store.latestRevision();
    return typeof latest === "number" ? this.cache.waitFor(latest) : this.#catchUpWith(latest);
  }

  /** Rejects with a 503 when the store can't be asked. */
  async #catchUpWith(latest: Promise<number>): Promise<void> {
    try {
      await this.cache.waitFor(await latest);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw serviceUnavailable(`the store can't be read now: ${error.message}`);
      throw error;
    }
  }

  /** Waits a bounded time until the copy in memory has reached a revision, else throws 504. */
  async waitForRevision(revision: number): Promise<void> {
    const waiting = this.cache.waitFor(revision, AbortSignal.timeout(this.futureWaitMilliseconds));
    if (waiting === undefined) return;
    try {
      await waiting;
    } catch (error) {
      if (this.cache.revision >= revision) return;
      if (!(error instanceof DOMException)) throw error;
      throw tooLargeResourceVersion({ wanted: revision, current: this.cache.revision });
    }
  }

  fromEntry({ key, value, modRevision }: Pick<Entry, "key" | "value" | "modRevision">): StoredObject<T> {
    return new StoredObject<T>({ prefix: this.#prefix, key, value, revision: modRevision });
  }

  /**
   * Writes to the store what every admission rule has let pass. Rejects with a 503 while that takes no writes, with a 504 when it is not known whether it has
   * written (clients repeat after a 503 by themselves), with a 413 for what it can't hold.
   */
  async write(admitted: Admitted, request: WriteRequest): Promise<WriteResult> {
    if (admitted.isDryRun) throw new TypeError("a dry run cannot be written");
    try {
      return await this.store.write(request);
    } catch (error) {
      if (error instanceof ValueTooLarge) throw tooLarge(`the store can't hold the object: ${error.message}`);
      if (error instanceof WriteOutcomeUnknown) throw timeout(`${error.message}: read the object to learn it`);
      if (error instanceof StoreUnavailable)
        throw serviceUnavailable(`the store takes no writes now: ${error.message}`);
      throw error;
    }
  }

  /** What has just been written: the instance of the copy in memory, so that its served forms are made once. */
  written(entry: Pick<Entry, "key" | "value" | "modRevision">): StoredObject<T> {
    const cached = this.cache.get(entry.key);
    return cached?.revision === entry.modRevision ? cached : this.fromEntry(entry);
  }

  notFound(name: string): Error {
    return notFound(this.resource, name);
  }

  #waitForVersion(resourceVersion: string): Promise<void> | undefined {
    const revision = parseResourceVersion(resourceVersion);
    return this.cache.revision >= revision ? undefined : this.waitForRevision(revision);
  }

  #existing(where: ObjectName): StoredObject<T> {
    const found = this.peek(where);
    if (found === undefined) throw this.notFound(where.name);
    return found;
  }
}
