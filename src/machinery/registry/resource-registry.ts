import type { AdmissionRule } from "../api/attributes.ts";
import { conflict, invalid, requestCanceled, tooLarge } from "../api/api-error.ts";
import type { ApiError } from "../api/api-error.ts";
import type { Clock } from "../api/clock.ts";
import { tooLong } from "../api/validation/field-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { GroupResource } from "../api/resource-type.ts";
import { checkValueCount, maximumValues } from "../schema/value-limit.ts";
import { openBrace } from "../api/json/json-codes.ts";
import type { Eviction } from "../storage/watch-cache/sorted-objects.ts";
import { WatchCache } from "../storage/watch-cache/watch-cache.ts";
import type { ChangeFeed } from "../storage/change-feed.ts";
import { StoreUnavailable } from "../storage/store.ts";
import type { Entry, RangeRequest, Store, WriteRequest, WriteResult } from "../storage/store.ts";
import { writeInTransaction } from "../storage/write-in-transaction.ts";
import { currentTrace } from "../tracing/request-trace.ts";
import type { Admitted } from "./admission.ts";
import type { Waiter } from "./caller.ts";
import { compileKind } from "./definition/compile-kind.ts";
import { countedSizes, KindQuota } from "./kind-quota.ts";
import type { Growth, StorageQuota } from "./storage-quota.ts";
import type { CompiledKind } from "./definition/compile-kind.ts";
import { servedDefinitions } from "./definition/resource-definition.ts";
import type { ResourceDefinition } from "./definition/resource-definition.ts";
import type { AnswerCreate } from "./definition/review-definition.ts";
import { notFoundOrInvalidName } from "./writes/requested-name.ts";
import { parseResourceVersion, tooLargeResourceVersion } from "./resource-version.ts";
import { maximumNameBytes, resourcePrefix, storageKey } from "./stored/storage-key.ts";
import type { ObjectName } from "./stored/storage-key.ts";
import { ServedVersion } from "./definition/served-version.ts";
import { encodeStored, kindPrefix, StoredObject } from "./stored/stored-object.ts";
import { UnreadableObject } from "./stored/unreadable-object.ts";
import type { KindPrefix } from "./stored/stored-object.ts";
import { readFailure, writeFailure } from "./stored/store-failures.ts";
import type { StoredTexts, TextsOfKind } from "./stored/stored-texts.ts";

/** A durable write of this process. */
export interface ObservedWrite {
  readonly definition: ResourceDefinition;
  readonly username: string;
  /** Undefined for a create. */
  readonly previous: StoredObject | undefined;
  /** Undefined for a delete. */
  readonly next: StoredObject | undefined;
}

export interface RegistryOptions<T extends ApiObject> {
  readonly definition: ResourceDefinition<T>;
  readonly store: Store;
  /** Follows the same store. All registries of the process share it. */
  readonly feed: ChangeFeed;
  /** The admission rules in order. Every `admit` runs before validation, every `validate` after it. */
  readonly admission: () => readonly AdmissionRule[];
  readonly clock: Clock;
  /** How many versions to keep in memory for watches that start in the past. */
  readonly historyLength?: number;
  /** The largest stored form of an object (etcd: `--max-request-bytes`). */
  readonly maximumObjectBytes: number;
  /** How long a read waits for a revision that does not exist yet. */
  readonly futureWaitMilliseconds?: number;
  /** Called after each write of this process. It runs on the request path, so keep it fast; it must not throw. */
  readonly onWritten: (write: ObservedWrite) => void;
  /** Called for each write that the store refused because it accepts no writes now. */
  readonly onRefused: (error: StoreUnavailable) => void;
  /** Limits the bytes of a namespace's objects, and of cluster-scoped objects that count for a user. Absent: no limit. */
  readonly quota?: StorageQuota | undefined;
  /** Where cached objects read their evicted texts. Absent: they keep their texts. */
  readonly texts?: StoredTexts | undefined;
  /** The registry of the stored version, if this definition serves the same objects under another version. */
  readonly stored?: ResourceRegistry<T>;
}

interface UnreachedRevision {
  readonly wanted: number;
  readonly current: number;
  readonly isForWatch?: boolean;
}

interface RegistryWrite extends Omit<WriteRequest, "signal"> {
  /** What `requireRoom` returned. */
  readonly growth?: Growth | undefined;
}

type StoredVersionEntry = Omit<Entry, "createRevision">;

/** An object with fewer bytes cannot contain more values than `maximumValues`. */
const smallestCrowdedObject = 2 * maximumValues;

/**
 * The objects of one resource: its definition, its location in the store and its cached copy in memory. Each verb is a
 * function in its own file: `createObject`, `updateObject`, `patchObject`, `deleteObject`, `deleteCollection`,
 * `listObjects` and `watchObjects`.
 */
export class ResourceRegistry<T extends ApiObject = ApiObject> {
  readonly definition: ResourceDefinition<T>;
  readonly store: Store;
  readonly cache: WatchCache<StoredObject<T>>;
  readonly #admission: () => readonly AdmissionRule[];
  readonly clock: Clock;
  readonly #futureWaitMilliseconds: number;
  readonly compiled: CompiledKind<T>;
  readonly served: ServedVersion<T>;
  /** The registries of each group and version that serves these objects. The first is that of the stored version. */
  readonly versions: readonly ResourceRegistry<T>[];
  readonly #storedPrefix: KindPrefix;
  /** Where objects read their evicted texts. Undefined: they keep their texts. */
  readonly #texts: TextsOfKind | undefined;
  readonly #answers: Map<string, AnswerCreate>;
  readonly #maximumObjectBytes: number;
  readonly #onWritten: (write: ObservedWrite) => void;
  readonly #onRefused: (error: StoreUnavailable) => void;
  readonly #quota: KindQuota<T> | undefined;
  /**
   * The objects of the values that `encode` has returned, so that the cache does not parse what this process has written. Undefined for a
   * kind whose cache does not read the object of each write: there, keeping them costs more than it saves.
   */
  readonly #encoded: WeakMap<Buffer, T> | undefined;

  constructor(options: RegistryOptions<T>) {
    const { definition, feed, historyLength = 10_000, quota, texts, stored } = options;
    this.definition = definition;
    this.store = options.store;
    this.#admission = options.admission;
    this.clock = options.clock;
    this.#futureWaitMilliseconds = options.futureWaitMilliseconds ?? 3000;
    this.compiled = compileKind(definition, stored?.compiled);
    this.#maximumObjectBytes = options.maximumObjectBytes;
    this.#onWritten = options.onWritten;
    this.#onRefused = options.onRefused;
    this.#storedPrefix = kindPrefix({ kind: definition.kind, apiVersion: this.compiled.storedApiVersion });
    this.served = new ServedVersion(this.compiled, definition.kind);
    this.#answers = stored === undefined ? new Map<string, AnswerCreate>() : stored.#answers;
    const own: TextsOfKind | undefined = texts && {
      valueAt: (write) => texts.valueAt(write),
      keep: (object, characters) => texts.keep(object, characters),
      onEvicted: (object) => this.cache.evict(object as StoredObject<T>), // called only with objects of this kind
    };
    this.#texts = own;
    this.cache =
      stored?.cache ??
      new WatchCache({
        feed,
        prefix: resourcePrefix(definition),
        decode: (entry) => this.#decode(entry, entry.isDecrypted === true ? undefined : own),
        eviction: own && this.#eviction(),
        onReplaced: (object) => object.keepText(),
        historyLength,
        bytesOf: (object) => object.textLength,
        sizes: quota && countedSizes(definition),
      });
    this.#encoded = stored === undefined ? definition.quotaUserOf && new WeakMap<Buffer, T>() : stored.#encoded;
    this.#quota =
      stored === undefined ? quota && new KindQuota({ definition, quota, cache: () => this.cache }) : stored.#quota;
    const others = stored === undefined ? servedDefinitions(definition).slice(1) : [];
    this.versions = [
      this,
      ...others.map((served) => new ResourceRegistry({ ...options, definition: served, stored: this })),
    ];
  }

  /** The apiVersion that this registry serves: `v1`, `certificates.platform.io/v1`. */
  get apiVersion(): string {
    return this.compiled.apiVersion;
  }

  /** The resource, as errors name it. */
  get resource(): GroupResource {
    return this.compiled.resource;
  }

  /** The kind, as validation errors name it. */
  get kind(): GroupResource {
    return this.compiled.kind;
  }

  /** Sets the answer of a subresource of the type `create`. */
  answerSubresource(subresource: string, answer: AnswerCreate): void {
    this.#answers.set(subresource, answer);
  }

  /** Returns the answer of a subresource of the type `create`. Throws when none was set, which is a bug in the server's assembly. */
  answerOf(subresource: string): AnswerCreate {
    const answer = this.#answers.get(subresource);
    if (answer === undefined) throw new TypeError(`no handler for ${this.definition.plural}/${subresource}`);
    return answer;
  }

  /** The admission rules, in the order in which they run. */
  get admission(): readonly AdmissionRule[] {
    return this.#admission();
  }

  /** Loads the stored objects. Start the registries of a process together. */
  start(): Promise<void> {
    return this.cache.start();
  }

  /**
   * Returns an object, with every acknowledged write applied. Throws or rejects with 404. When the cache is current it
   * returns immediately, without a promise.
   */
  get(
    where: ObjectName,
    { resourceVersion = "", waiter }: { readonly resourceVersion?: string; readonly waiter?: Waiter } = {},
  ): StoredObject<T> | Promise<StoredObject<T>> {
    const waiting = resourceVersion === "" ? this.waitForFreshCache(waiter) : this.#waitForVersion(resourceVersion);
    return waiting === undefined ? this.#existing(where) : waiting.then(() => this.#existing(where));
  }

  /** Returns the cached object. It may be slightly out of date. */
  peek(where: ObjectName): StoredObject<T> | undefined {
    const key = storageKey(this.definition, where);
    return key === undefined ? undefined : this.cache.get(key);
  }

  /**
   * Waits until the cache is fresh. Undefined when it already contains every acknowledged write. Rejects with a 503
   * when the store does not answer, and with a 504 when the caller stopped waiting.
   */
  waitForFreshCache(waiter?: Waiter): Promise<void> | undefined {
    if (waiter?.hasFreshCache === true) return undefined;
    const latest = this.#latestRevision();
    const isCurrent = typeof latest === "number" && latest <= this.cache.revision;
    return isCurrent ? undefined : this.#waitForFreshCacheAt(latest, waiter);
  }

  #latestRevision(): number | Promise<number> {
    try {
      return this.store.latestRevision();
    } catch (error) {
      throw readFailure(error);
    }
  }

  async #waitForFreshCacheAt(latest: number | Promise<number>, waiter: Waiter | undefined): Promise<void> {
    const signal = waiter?.signal;
    currentTrace()?.begin("wait for fresh cache");
    try {
      await this.cache.waitFor(await latest, signal);
    } catch (error) {
      if (signal?.aborted === true) throw requestCanceled();
      throw readFailure(error);
    }
  }

  /** Waits until the cache has reached a revision. Throws a 504 after a time limit. */
  async waitForRevision(
    revision: number,
    { isForWatch = false }: { readonly isForWatch?: boolean } = {},
  ): Promise<void> {
    if (this.cache.revision >= revision) return;
    const waiting = this.cache.waitFor(revision, AbortSignal.timeout(this.#futureWaitMilliseconds));
    if (waiting === undefined) return;
    try {
      await waiting;
    } catch (error) {
      if (this.cache.revision >= revision) return;
      if (!(error instanceof DOMException)) throw readFailure(error);
      throw this.tooLargeVersion({ wanted: revision, current: this.cache.revision, isForWatch });
    }
  }

  /** Whether the store would now write an object in another form. If so, an update that changes nothing is written too. */
  async isStale({ key, isStale }: StoredObject<T>): Promise<boolean> {
    try {
      return isStale || ((await this.store.isStale?.(key)) ?? false);
    } catch (error) {
      throw readFailure(error);
    }
  }

  /** The error for reading a revision that no write has reached. */
  tooLargeVersion({ isForWatch = false, ...revisions }: UnreachedRevision): ApiError {
    const hasRetry = isForWatch || this.definition.isReadFromStorage !== true;
    return tooLargeResourceVersion({ ...revisions, hasRetry });
  }

  fromEntry(entry: StoredVersionEntry): StoredObject<T> {
    return this.#decode(entry);
  }

  /** Reads objects at a revision that may be older than the cache's history. Texts that can be read again are not kept. */
  async readStored(request: RangeRequest): Promise<{ readonly objects: StoredObject<T>[]; readonly hasMore: boolean }> {
    const { entries, hasMore } = await (this.#texts === undefined || this.store.rangeOfHeads === undefined
      ? this.store.range(request)
      : this.store.rangeOfHeads({ ...request, firstByte: openBrace }));
    const objects = entries.map((entry) =>
      entry.value === undefined ? this.#unloaded(entry.key, entry.modRevision) : this.#decode(entry),
    );
    return { objects, hasMore };
  }

  #unloaded(key: string, revision: number): StoredObject<T> {
    return new StoredObject<T>({ prefix: this.#storedPrefix, key, revision, texts: this.#texts });
  }

  #eviction(): Eviction<StoredObject<T>> {
    return {
      firstByte: openBrace,
      peek: (key, revision) => this.#unloaded(key, revision),
      load: (key, revision) => this.#unloaded(key, revision).loadText(),
      revisionOf: ({ revision }) => revision,
      isTextEvicted: ({ isTextEvicted }) => isTextEvicted,
    };
  }

  #decode({ key, value, modRevision, unreadable, isStale }: StoredVersionEntry, texts?: TextsOfKind): StoredObject<T> {
    if (value[0] !== openBrace) {
      const reason = unreadable ?? "it is not an object";
      return new UnreadableObject<T>({ key, revision: modRevision, reason });
    }
    return new StoredObject<T>({
      prefix: this.#storedPrefix,
      key,
      value,
      revision: modRevision,
      isStale: isStale === true,
      texts,
      object: this.#encoded?.get(value),
    });
  }

  /**
   * Encodes an object for the store. Throws a 413 when it is too large, unless it is smaller than its previous version:
   * an object that was stored under a larger limit can still be made smaller.
   */
  encode(object: T, previous?: StoredObject<T>): Buffer {
    const value = encodeStored(object);
    const isTooLarge = value.length > this.#maximumObjectBytes;
    if (isTooLarge && (previous === undefined || value.length >= previous.storedBytes)) {
      throw tooLarge(
        `the object would take ${value.length} bytes, more than the ${this.#maximumObjectBytes} that one may take: make it smaller`,
      );
    }
    if (value.length > smallestCrowdedObject) checkValueCount(value.toString("utf8"));
    this.#encoded?.set(value, object);
    return value;
  }

  /** Throws a 403 when the quota of an object's namespace or user has no room. Call it right before the write, which needs its result. */
  requireRoom(object: T, write: Pick<Growth, "key" | "user" | "bytes">): Growth | undefined {
    return this.#quota?.requireRoom(object, { ...write, resource: this.resource });
  }

  /**
   * Writes an object that has passed all admission rules. Rejects with a 503 while the store accepts no writes; with a 504
   * when it is not known whether the write happened (clients would retry a 503 by themselves) or when the request ended
   * before the write; with a 413 when the store cannot hold the object.
   */
  async write(admitted: Admitted, request: RegistryWrite): Promise<WriteResult> {
    if (admitted.isDryRun) throw new TypeError("a dry run cannot be written");
    const trace = currentTrace();
    trace?.begin("store");
    const { key, value, expectedRevision, growth } = request;
    const before = expectedRevision === 0 ? undefined : this.cache.get(key);
    const { sizes } = this.cache; // read once: a reload of the cache replaces it
    const reservation = growth && sizes?.reserve(growth);
    try {
      const { signal, transaction } = admitted;
      const write = { key, value, expectedRevision, signal };
      const result = await (transaction === undefined
        ? this.store.write(write)
        : writeInTransaction(transaction, { store: this.store, request: write }));
      if (result.isWritten) this.#notifyOfWrite(admitted, { request, before, revision: result.revision });
      // After a write, the reservation stays until the cache has the change: etcd may answer a write before it sends the event.
      else if (reservation !== undefined) sizes?.release(reservation);
      trace?.decided(result.isWritten ? `revision ${result.revision}` : "another write came first");
      return result;
    } catch (error) {
      if (reservation !== undefined) sizes?.release(reservation);
      if (error instanceof StoreUnavailable) this.#onRefused(error);
      throw writeFailure(error, { resource: this.resource, key });
    }
  }

  /**
   * Returns the object that was just written: the cached instance if there is one, so that its encodings are computed
   * only once.
   */
  written(entry: StoredVersionEntry): StoredObject<T> {
    const cached = this.cache.get(entry.key);
    return cached?.revision === entry.modRevision ? cached : this.fromEntry(entry);
  }

  /** The 409 for a change that has lost to other writers at every attempt. */
  contended(name: string): Error {
    return conflict(this.resource, { name, message: "others change the object all the time; please try again later" });
  }

  /** The 422 for creating an object whose key no backend can store. */
  nameTooLong({ namespace, name }: ObjectName): Error {
    return invalid(this.kind, {
      name,
      faults: [tooLong("metadata.name", maximumNameBytes(this.definition, namespace))],
    });
  }

  notFound(name: string): Error {
    return notFoundOrInvalidName(this.resource, name);
  }

  #notifyOfWrite(
    { username }: Admitted,
    {
      request: { key, value, expectedRevision },
      before,
      revision,
    }: {
      readonly request: RegistryWrite;
      readonly before: StoredObject<T> | undefined;
      readonly revision: number;
    },
  ): void {
    const next = value && this.written({ key, value, modRevision: revision });
    const previous = before?.revision === expectedRevision ? before : undefined;
    this.#onWritten({ definition: this.definition, username, previous, next } as unknown as ObservedWrite); // of T
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
