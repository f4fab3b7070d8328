import type { SizedIterable } from "../../api/sized-iterable.ts";
import { asError } from "../../api/thrown-error.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { ChangeFeed } from "../change-feed.ts";
import { earlierEvents } from "./earlier-events.ts";
import { earlierObjects } from "./earlier-objects.ts";
import { EventHistory } from "./event-history.ts";
import type { EarlierLog, FeedFollower, FeedLoad } from "../feed-follower.ts";
import { CountedObjects } from "./counted-objects.ts";
import type { CountedSizes } from "./counted-objects.ts";
import type { GroupSizes } from "./group-sizes.ts";
import { SortedMap } from "../sorted-map.ts";
import type { Snapshot } from "./snapshot.ts";
import { SortedObjects } from "./sorted-objects.ts";
import type { Cached, Eviction } from "./sorted-objects.ts";
import { RevisionCompacted, StoreDamaged } from "../store.ts";
import type { Change, Entry, Head } from "../store.ts";
import { ValueIndexes } from "./value-index.ts";
import type { Lookup } from "./value-index.ts";
import { WatchIndex } from "./watch-index.ts";
import type { WatchScope } from "./watch-index.ts";
import type { KeyRange } from "../key-range.ts";
import { inKeyRange, prefixRange } from "../key-range.ts";

export interface WatchCacheOptions<T extends Cached> {
  /** All caches of the process share it. */
  readonly feed: ChangeFeed;
  /** Starts and ends with "/", such as `/registry/serviceaccounts/`. Prefixes of caches must not overlap. */
  readonly prefix: string;
  /** Called once for each version of a key, on the path of every write. T may decode itself on first use. */
  decode(entry: Entry): T;
  /** How many events to keep for watches that start in the past. */
  readonly historyLength: number;
  /** Absent: all objects stay in memory. */
  readonly eviction?: Eviction<T> | undefined;
  /** Called before an object is replaced or deleted. The history and readers may still use it. */
  onReplaced?(object: T): void;
  /** The approximate memory of an object. Absent: only `historyLength` limits the history. */
  bytesOf?(object: T): number;
  /** How to sum the lengths of the stored values by group. Absent: they are not summed. */
  readonly sizes?: CountedSizes<T> | undefined;
}

const nothing = (): number => 0;

/**
 * The approximate memory limit for the kept events of a cache. An event counts both the written and the replaced object, so each version
 * of an object that is written again and again counts twice.
 */
const maximumHistoryBytes = 32 * 2 ** 20;

export interface CacheWatchRequest<T extends Cached> extends KeyRange {
  /** Only objects that have or had this value are of interest. Events of other objects may come too, so check each event. */
  readonly where?: Lookup<T> | undefined;
  /** May be in the future: events up to it are skipped. */
  readonly afterRevision: number;
  readonly onEvent: (event: CacheEvent<T>) => void;
  /**
   * Called once: with RevisionCompacted when events were missed, otherwise with the reason why the cache ended. Never
   * called after stop(). `before`: the objects of the cache when the watch got its last event; absent when the cache ended.
   */
  readonly onEnd: (error: Error, before?: CachedObjects<T>) => void;
}

/** The objects of a cache at one moment. */
export type CachedObjects<T extends Cached> = Pick<SortedObjects<T>, "snapshot">;

interface CacheWatch<T extends Cached> extends WatchScope<T> {
  readonly request: CacheWatchRequest<T>;
  /**
   * The last event that was delivered to the watch. Its revision would not be enough: on an etcd prefix with etcd's own revisions, several
   * events may share one.
   */
  lastEvent: CacheEvent<T> | undefined;
}

/**
 * Holds the objects under one prefix of the store in memory, with their recent history. Follows the store's revision
 * log.
 */
export class WatchCache<T extends Cached> {
  readonly #options: WatchCacheOptions<T>;
  #objects: SortedObjects<T>;
  #counted: CountedObjects<T> | undefined;
  readonly #watches = new WatchIndex<T, CacheWatch<T>>();
  /**
   * Watches that a reload has interrupted, with the objects before it. They end when the cache is at the new revision, where they can
   * start again.
   */
  readonly #interruptedWatches = new Map<CacheWatch<T>, CachedObjects<T>>();
  readonly #indexes: ValueIndexes<T, T | number>;
  #history: EventHistory<CacheEvent<T>>;
  /** The events that `prepareHistory` has read so far. */
  #earlier: EventHistory<CacheEvent<T>> | undefined;
  #preparing: Promise<void> | undefined;
  #follower: FeedFollower | undefined;

  constructor(options: WatchCacheOptions<T>) {
    this.#options = options;
    this.#objects = new SortedObjects(options.eviction);
    this.#counted = this.#nothingCounted();
    this.#indexes = new ValueIndexes({
      entryOf: (key) => this.#objects.entryOf(key),
      size: () => this.#objects.size,
      objects: () => this.#objects.snapshot(prefixRange(options.prefix)),
    });
    this.#history = this.#historyFrom(0);
  }

  /**
   * Loads the state. Resolves when everything written before the call is applied. Start all caches of a feed together
   * (Promise.all): they share the read.
   */
  async start(): Promise<void> {
    this.#follower ??= this.#options.feed.join({
      prefix: this.#options.prefix,
      unneededFirstByte: this.#options.eviction?.firstByte,
      beginLoad: () => this.#beginLoad(),
      apply: (change) => this.#apply(change),
      progress: () => this.#endInterruptedWatches(),
      end: (error) => {
        this.#counted?.stop();
        this.#endWatches(error);
      },
    });
    await this.#follower.started;
  }

  /**
   * Every change up to this revision is applied and delivered to the watches, for the whole store and not only this prefix.
   * 0 before start.
   */
  get revision(): number {
    return this.#follower?.revision ?? 0;
  }

  /** How many bytes the stored values of each group take. Undefined without `sizes` in the options. */
  get sizes(): GroupSizes | undefined {
    return this.#counted?.sizes;
  }

  /** The earliest revision after which a watch may start. */
  get oldestRevision(): number {
    return this.#history.oldestRevision;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /**
   * Evicts an object that can be read again. An object that the history has stays loaded until the history drops it, because a newer
   * write changes the object (see `onReplaced`), and readers of the history must see that.
   */
  evict(object: T): void {
    const { eviction } = this.#options;
    const oldestRevision = Math.min(this.oldestRevision, this.#earlier?.oldestRevision ?? Infinity);
    if (eviction === undefined || eviction.revisionOf(object) > oldestRevision) return;
    this.#objects.evict(object);
  }

  /** The objects in a range of keys. `limit` 0 or absent: all of them. */
  range(request: KeyRange & { readonly limit?: number }): T[] {
    return this.#objects.range(request);
  }

  /** As `range`, for a reader that takes several turns of the event loop. */
  snapshot(range: KeyRange): Snapshot<T> {
    return this.#objects.snapshot(range);
  }

  /**
   * As `snapshot`, but only the objects that have a value. Undefined: no index has them, so the caller must look at all objects.
   */
  lookUp(range: KeyRange, lookup: Lookup<T>): SizedIterable<T> | undefined {
    const found = this.#indexes.find(lookup);
    if (found === undefined) return undefined;
    if (found instanceof SortedMap) return this.#objects.snapshot(range, found);
    return found.filter(inKeyRange(range)).flatMap((key) => this.#objects.peek(key) ?? []);
  }

  /**
   * The objects in a range as they were at a revision, in the order of their keys, for a reader that takes several turns of the event
   * loop. `lookup`: objects without the value may be left out. `limit`: objects after so many may be left out. Undefined: the history
   * does not reach back to the revision.
   */
  objectsAt(
    revision: number,
    { lookup, limit = 0, ...range }: KeyRange & { readonly lookup?: Lookup<T> | undefined; readonly limit?: number },
  ): Iterable<T> | undefined {
    if (revision < this.oldestRevision || revision > this.revision) return undefined;
    const before = this.#before(revision, range);
    const found = lookup && this.lookUp(range, lookup);
    // At most `before.size` of the objects did not exist at the revision, or were different.
    const now = found ?? this.#objects.snapshot({ ...range, limit: limit === 0 ? 0 : limit + before.size });
    return before.size === 0 ? now : earlierObjects({ now, before });
  }

  /** The objects that the keys of a range had at a revision, for the keys that were written since. Undefined: the key did not exist. */
  #before(revision: number, range: KeyRange): Map<string, T | undefined> {
    const isInRange = inKeyRange(range);
    const before = new Map<string, T | undefined>();
    for (const { key, previous } of this.#history.after(revision)) {
      if (isInRange(key) && !before.has(key)) before.set(key, previous);
    }
    return before;
  }

  /** Call it before `lookUp`. The second call for a field makes an index, and resolves when it is filled. */
  prepareLookUp(lookup: Lookup<T>): Promise<void> | undefined {
    return this.#indexes.prepare(lookup);
  }

  /** The number of keys in a range at a revision. Undefined when that is no longer known. */
  countAt(range: KeyRange, revision: number): number | undefined {
    if (revision < this.oldestRevision || revision > this.revision) return undefined;
    const isInRange = inKeyRange(range);
    let count = this.#objects.count(range);
    for (const event of this.#history.after(revision)) {
      if (!isInRange(event.key)) continue;
      if (event.type === "delete") count += 1;
      else if (event.previous === undefined) count -= 1;
    }
    return count;
  }

  /**
   * Returns undefined when `revision` is already applied. Otherwise resolves once it is. Rejects as `FeedFollower.waitFor`
   * does.
   */
  waitFor(revision: number, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#follower === undefined) return this.start().then(() => this.waitFor(revision, signal));
    return this.#follower.waitFor(revision, signal);
  }

  /**
   * Call it before a watch or a list from a revision. The first call with a revision from before this process's start reads the history
   * from the store's log, unless that is damaged. Undefined: there is nothing to wait for. Rejects with the errors of the store.
   */
  prepareHistory(afterRevision: number): Promise<void> | undefined {
    const log = this.#follower?.earlierLog;
    if (log === undefined || afterRevision >= this.oldestRevision || afterRevision < log.afterRevision)
      return undefined;
    // When the history has dropped events after the load, the log's events would not continue in it without a gap.
    if (this.oldestRevision !== log.untilRevision) return undefined;
    this.#preparing ??= this.#readEarlier(log).finally(() => (this.#preparing = undefined));
    return this.#preparing;
  }

  async #readEarlier(log: EarlierLog): Promise<void> {
    const { prefix, eviction } = this.#options;
    const loaded = this.#history;
    const earlier = this.#historyFrom(log.afterRevision);
    this.#earlier = earlier;
    const versionOf = (stored: Entry | Head): T => this.#versionOf(stored);
    try {
      for await (const events of earlierEvents<T>({ log, prefix, firstByte: eviction?.firstByte, versionOf })) {
        for (const event of events) earlier.push(event);
      }
      if (this.#history !== loaded || loaded.oldestRevision !== log.untilRevision) return;
      for (const event of loaded.after(log.untilRevision)) earlier.push(event);
      this.#history = earlier;
    } catch (error) {
      // Without this history, the waiting watch fails with RevisionCompacted, and its client lists again.
      if (!(error instanceof RevisionCompacted || error instanceof StoreDamaged)) throw error;
    } finally {
      this.#earlier = undefined;
    }
  }

  /** The object of a version in the log: the cache's own, or a new one that keeps its text, because the store may compact the version. */
  #versionOf(stored: Entry | Head): T {
    const { eviction, decode, onReplaced } = this.#options;
    const { key, modRevision } = stored;
    const current = eviction && this.#objects.get(key);
    if (current !== undefined && eviction?.revisionOf(current) === modRevision) return current;
    const object = stored.value === undefined ? (eviction as Eviction<T>).peek(key, modRevision) : decode(stored); // heads need it
    onReplaced?.(object);
    if (eviction?.isTextEvicted(object) === true) throw new RevisionCompacted(this.oldestRevision);
    return object;
  }

  /**
   * Delivers the kept events after `afterRevision` before it returns, then live events, all in order. A callback that
   * throws ends its own watch. Throws RevisionCompacted when older events are no longer kept.
   */
  watch(request: CacheWatchRequest<T>): { stop(): void } {
    if (request.afterRevision < this.oldestRevision) throw new RevisionCompacted(this.oldestRevision);
    const { start, end, where } = request;
    const watch: CacheWatch<T> = { start, end, where, request, lastEvent: undefined };
    // Register first: a callback may write while the old events are delivered, and that event must not be lost.
    this.#watches.add(watch);
    const isInRange = inKeyRange(request);
    for (const event of this.#history.after(request.afterRevision)) {
      if (isInRange(event.key)) this.#deliver(watch, event);
    }
    return {
      stop: () => {
        this.#watches.delete(watch);
        this.#interruptedWatches.delete(watch);
      },
    };
  }

  #beginLoad(): FeedLoad {
    const { eviction, decode } = this.#options;
    const objects = new SortedObjects(eviction);
    const counted = this.#nothingCounted();
    const loaded: T[] = [];
    return {
      add: (entries) => {
        for (const entry of entries) {
          if (entry.value === undefined) {
            objects.setEvicted(entry.key, entry.modRevision);
            counted?.addLoaded(entry.key, entry.valueBytes);
            continue;
          }
          const object = decode(entry);
          counted?.addLoaded(entry.key, counted.storedBytesOf(object));
          objects.set(entry.key, object);
          if (eviction !== undefined) loaded.push(object);
        }
      },
      finish: (revision) => {
        this.#counted?.stop();
        this.#counted = counted;
        this.#replaceAll(objects, revision);
        void counted?.countLoaded(objects);
        // Only now, because objects can be evicted only when they are in the cache.
        for (const object of loaded) if (eviction?.isTextEvicted(object) === true) this.evict(object);
      },
    };
  }

  #replaceAll(objects: SortedObjects<T>, revision: number): void {
    if (this.revision > 0) {
      // A load of the same revision is made because values can now be decrypted. So it is new also for watches that are at this revision.
      const seenRevision = this.revision < revision ? revision - 1 : revision;
      for (const watch of this.#watches) {
        if (watch.request.afterRevision > seenRevision) continue; // this watch waits for a future revision
        this.#watches.delete(watch);
        this.#interruptedWatches.set(watch, this.#objects);
      }
    }
    this.#objects = objects;
    this.#indexes.clear();
    this.#history = this.#historyFrom(revision);
  }

  #nothingCounted(): CountedObjects<T> | undefined {
    const { sizes, prefix } = this.#options;
    return sizes && new CountedObjects({ ...sizes, range: prefixRange(prefix) });
  }

  #historyFrom(oldestRevision: number): EventHistory<CacheEvent<T>> {
    const { historyLength, bytesOf = nothing } = this.#options;
    return new EventHistory({
      capacity: historyLength,
      maximumBytes: maximumHistoryBytes,
      bytesOf: (event) =>
        (event.type === "put" ? bytesOf(event.object) : 0) +
        (event.previous === undefined ? 0 : bytesOf(event.previous)),
      oldestRevision,
      onForgotten: (event) => {
        if (event.type === "put" && this.#options.eviction?.isTextEvicted(event.object) === true)
          this.evict(event.object);
      },
    });
  }

  #apply({ key, value, revision, createRevision, unreadable, isStale, isDecrypted }: Change): void {
    const isNew = createRevision === revision;
    const previous = isNew ? undefined : this.#objects.get(key);
    if (previous !== undefined) this.#options.onReplaced?.(previous);
    let event: CacheEvent<T>;
    if (value === undefined) {
      if (previous === undefined) return;
      this.#objects.delete(key);
      event = { type: "delete", key, revision, previous };
    } else {
      const entry = { key, value, createRevision, modRevision: revision, unreadable, isStale, isDecrypted };
      const object = this.#options.decode(entry);
      this.#objects.set(key, object);
      event = { type: "put", key, revision, object, previous };
    }
    const object = event.type === "put" ? event.object : undefined;
    this.#counted?.replace({ key, object, previous });
    this.#indexes.replace(previous, object);
    this.#history.push(event);
    if (this.#watches.size === 0) return;
    this.#watches.visit({ key, object, previous, event }, this.#deliverTo);
  }

  readonly #deliverTo = (watch: CacheWatch<T>, { event }: { readonly event: CacheEvent<T> }): void =>
    this.#deliver(watch, event);

  #deliver(watch: CacheWatch<T>, event: CacheEvent<T>): void {
    // A watch that started during this event has already got it from the history.
    if (event.revision <= watch.request.afterRevision || event === watch.lastEvent || !this.#watches.has(watch)) return;
    watch.lastEvent = event;
    try {
      watch.request.onEvent(event);
    } catch (error) {
      // This watch may have missed an event; the others continue.
      if (this.#watches.delete(watch)) watch.request.onEnd(asError(error));
    }
  }

  #endInterruptedWatches(): void {
    for (const [watch, before] of this.#interruptedWatches) {
      this.#interruptedWatches.delete(watch);
      watch.request.onEnd(new RevisionCompacted(this.oldestRevision), before);
    }
  }

  #endWatches(error: Error): void {
    // Iterate over a copy of the set: otherwise a new watch that a watcher starts when its old one ends would be ended too, endlessly.
    for (const watch of [...this.#watches]) if (this.#watches.delete(watch)) watch.request.onEnd(error);
  }
}
