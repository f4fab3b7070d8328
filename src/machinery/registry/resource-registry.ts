import type { AdmissionRule } from "../api/attributes.ts";
import { conflict, invalid, notFound, requestOver, serviceUnavailable, timeout, tooLarge } from "../api/api-error.ts";
import type { Named } from "../api/api-error.ts";
import { systemClock } from "../api/clock.ts";
import type { Clock } from "../api/clock.ts";
import { tooLong } from "../api/field-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { checkValueCount, maximumValues } from "../schema/value-limit.ts";
import { WatchCache } from "../storage/watch-cache.ts";
import type { ChangeFeed } from "../storage/change-feed.ts";
import { StoreUnavailable, ValueTooLarge, WriteAbandoned, WriteOutcomeUnknown } from "../storage/store.ts";
import type { Entry, Store, WriteRequest, WriteResult } from "../storage/store.ts";
import type { Admitted } from "./admission.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import { parseResourceVersion, tooLargeResourceVersion } from "./resource-version.ts";
import { maximumNameBytes, resourcePrefix, storageKey } from "./storage-key.ts";
import type { ObjectName } from "./storage-key.ts";
import { encodeStored, kindPrefix, StoredObject } from "./stored-object.ts";
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
  /** The largest stored form of an object (etcd: `--max-request-bytes`). Default 1.5 MiB. */
  readonly maximumObjectBytes?: number;
  /** How long a read waits for a revision that does not exist yet. */
  readonly futureWaitMilliseconds?: number;
}

/** Smaller ones cannot hold more values than may be. */
const smallestCrowdedObject = 2 * maximumValues;

/** Whoever waits for an answer. The signal is looked at only where there is something to wait for: it is made then. */
export interface Asker {
  readonly signal: AbortSignal;
}

/** As often is a change made anew because others write the same object: more than requests run at once. */
export const maximumWriteAttempts = 256;

/** As etcd's. */
const defaultObjectBytes = 1.5 * 1024 * 1024;

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
  readonly #maximumObjectBytes: number;

  constructor({
    definition,
    store,
    feed,
    admission = [],
    clock = systemClock,
    historyLength = 10_000,
    maximumObjectBytes = defaultObjectBytes,
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
    this.#maximumObjectBytes = maximumObjectBytes;
    this.#prefix = kindPrefix({ kind, apiVersion: this.apiVersion });
    this.cache = new WatchCache({
      feed,
      prefix: resourcePrefix(definition),
      decode: (entry) => this.fromEntry(entry),
      historyLength,
      bytesOf: (object) => object.textLength,
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
  get(
    where: ObjectName,
    { resourceVersion = "", asker }: { readonly resourceVersion?: string; readonly asker?: Asker } = {},
  ): StoredObject<T> | Promise<StoredObject<T>> {
    const waiting = resourceVersion === "" ? this.catchUp(asker) : this.#waitForVersion(resourceVersion);
    return waiting === undefined ? this.#existing(where) : waiting.then(() => this.#existing(where));
  }

  /** What the copy in memory holds now: for look-ups that may be a moment old. */
  peek(where: ObjectName): StoredObject<T> | undefined {
    const key = storageKey(this.definition, where);
    return key === undefined ? undefined : this.cache.get(key);
  }

  /**
   * Undefined when the copy in memory shows every acknowledged write already. Rejects with a 503 when the store can't be
   * asked, with a 504 when nobody waits any longer.
   */
  catchUp(asker?: Asker): Promise<void> | undefined {
    const latest = this.store.latestRevision();
    const isCurrent = typeof latest === "number" && latest <= this.cache.revision;
    return isCurrent ? undefined : this.#catchUpWith(latest, asker);
  }

  async #catchUpWith(latest: number | Promise<number>, asker: Asker | undefined): Promise<void> {
    const signal = asker?.signal;
    try {
      await this.cache.waitFor(await latest, signal);
    } catch (error) {
      if (signal?.aborted === true) throw requestOver();
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
   * The stored form of an object. Throws a 413 when it is too large, unless it is smaller than the version before it:
   * what was stored under a larger bound can still be made smaller.
   */
  encode(object: T, previous?: StoredObject<T>): Buffer {
    const value = encodeStored(object);
    const isTooLarge = value.length > this.#maximumObjectBytes;
    if (isTooLarge && (previous === undefined || value.length >= previous.storedBytes())) {
      throw tooLarge(
        `the object would take ${value.length} bytes, more than the ${this.#maximumObjectBytes} that one may take: make it smaller`,
      );
    }
    if (value.length > smallestCrowdedObject) checkValueCount(value.toString("utf8"));
    return value;
  }

  /**
   * Writes to the store what every admission rule has let pass. Rejects with a 503 while the store takes no writes, with a
   * 504 when it is not known whether it has written (clients repeat after a 503 by themselves) or when the caller's request
   * had ended before, with a 413 for what it can't hold.
   */
  async write(admitted: Admitted, request: Omit<WriteRequest, "signal">): Promise<WriteResult> {
    if (admitted.isDryRun) throw new TypeError("a dry run cannot be written");
    try {
      return await this.store.write({ ...request, signal: admitted.signal });
    } catch (error) {
      if (error instanceof WriteAbandoned) throw requestOver();
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

  /** Others wrote the object whenever this change was tried. */
  contended(name: string): Error {
    return conflict(this.resource, name, {
      message: "others change the object all the time; please try again later",
    });
  }

  /** No backend could hold its key: a 422 for whoever would create it. */
  nameTooLong({ namespace, name }: ObjectName): Error {
    return invalid(this.kind, name, [tooLong("metadata.name", maximumNameBytes(this.definition, namespace))]);
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
