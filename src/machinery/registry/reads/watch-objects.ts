import { ApiError, expired } from "../../api/api-error.ts";
import { LongWork } from "../../scheduling/long-work.ts";
import type { SizedIterable } from "../../api/sized-iterable.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { UserInfo } from "../../api/user-info.ts";
import { asError } from "../../api/thrown-error.ts";
import { RevisionCompacted } from "../../storage/store.ts";
import type { CacheEvent } from "../../storage/watch-cache/cache-event.ts";
import type { ListOptions } from "./list-options.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { parseResourceVersion } from "../resource-version.ts";
import type { StoredObject } from "../stored/stored-object.ts";

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

/** Receives the events of a watch, in revision order. */
export interface ObjectObserver<T extends ApiObject> {
  /** The first call: the requested version is reached. Not called when the watch ends because it has waited too long for that version. */
  onStart?(): void;
  /** Every observer receives the same `object` for the same change, so that its encodings can be shared. */
  onChange(type: ChangeType, object: StoredObject<T>): void;
  /** Called when the client asked for the initial state, and all of it is delivered. Changes after the revision follow. */
  onInitialEventsEnd(revision: number): void;
  /**
   * Called after each change before `onReady`. When it returns a promise, further changes wait until that resolves. Absent, or undefined:
   * they are delivered at once.
   */
  untilRead?(): Promise<void> | undefined;
  /** Called when the initial state and the kept history are delivered. From now on, events are live. */
  onReady(): void;
  /** The last call. An ApiError is meant for the client. Any other error is a failure of the store (`isStoreFailure`), or a bug. */
  onEnd(error: Error): void;
}

export interface WatchedObjects<T extends ApiObject> {
  readonly options: ListOptions<T>;
  readonly observer: ObjectObserver<T>;
  /** The user who takes turns with others while the watch reads many objects. */
  readonly user?: UserInfo;
}

export interface ObjectWatch {
  /**
   * Every event up to this revision was delivered, and none after it was skipped: another watch may resume from here.
   * Undefined before `onReady`, and while the watch waits for a future version.
   */
  readonly progress: number | undefined;
  stop(): void;
}

/**
 * Sends the events of the selected objects to an observer. Without a version, or at 0, it starts with the existing
 * objects. With a version, it replays the events after it. With a future version, it sends nothing until that version. With a
 * version that is no longer kept, the watch ends with a 410.
 */
export function watchObjects<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  watched: WatchedObjects<T>,
): ObjectWatch {
  const watch = new RunningWatch(registry, watched);
  void watch.run();
  return watch;
}

/** Whether the watch starts with the existing objects. */
const beginsWithState = <T extends ApiObject>({ sendsInitialEvents, resourceVersion }: ListOptions<T>): boolean =>
  sendsInitialEvents ?? parseResourceVersion(resourceVersion) === 0;

async function untilReady<T extends ApiObject>(registry: ResourceRegistry<T>, options: ListOptions<T>): Promise<void> {
  const { selector, resourceVersion } = options;
  const beginsHere = beginsWithState(options);
  const preparing = beginsHere && selector.lookup && registry.cache.prepareLookUp(selector.lookup);
  if (preparing instanceof Promise) await preparing;
  if (resourceVersion === "") await registry.waitForFreshCache();
  else if (!beginsHere) await registry.cache.prepareHistory(parseResourceVersion(resourceVersion));
}

type Cache<T extends ApiObject> = ResourceRegistry<T>["cache"];

/** The objects that a watch must look at, at the cache's revision. */
function existingObjects<T extends ApiObject>(
  cache: Cache<T>,
  { range, lookup }: ListOptions<T>["selector"],
): SizedIterable<StoredObject<T>> {
  const found =
    lookup && shared(cache, { name: JSON.stringify([range, lookup]), find: () => cache.lookUp(range, lookup) });
  return found ?? shared(cache, { name: JSON.stringify([range]), find: () => cache.snapshot(range) });
}

interface Shared {
  readonly revision: number;
  readonly name: string;
  readonly objects: WeakRef<SizedIterable<StoredObject>>;
}

const lastShared = new WeakMap<object, Shared>();

/** Finds objects for a watch, or returns the same ones as for the last watch at this revision: thousands of watches may start together. */
function shared<T extends ApiObject, Found extends SizedIterable<StoredObject<T>> | undefined>(
  cache: Cache<T>,
  { name, find }: { readonly name: string; readonly find: () => Found },
): Found {
  const { revision } = cache;
  const last = lastShared.get(cache);
  const known = last?.revision === revision && last.name === name ? last.objects.deref() : undefined;
  if (known !== undefined) return known as Found; // of the same cache and name
  const objects = find();
  if (objects !== undefined) lastShared.set(cache, { revision, name, objects: new WeakRef(objects) });
  return objects;
}

/** A watch ends with a 410 when more events than this wait until its existing objects are delivered. */
const maximumWaitingEvents = 100_000;
/** The same limit for the texts of the waiting events' objects, which are perhaps kept in memory only for this watch. */
const maximumWaitingCharacters = 64 * 1024 * 1024;

class RunningWatch<T extends ApiObject> implements ObjectWatch {
  readonly #registry: ResourceRegistry<T>;
  readonly #options: ListOptions<T>;
  readonly #observer: ObjectObserver<T>;
  readonly #user: UserInfo | undefined;
  #cacheWatch: { stop(): void } | undefined;
  /** Events up to this revision are not delivered. */
  #skippedRevision = 0;
  /** Events that arrived while the existing objects are delivered. Undefined: events are delivered at once. */
  #waiting: CacheEvent<StoredObject<T>>[] | undefined;
  #waitingCharacters = 0;
  #isReady = false;
  #isOver = false;

  constructor(registry: ResourceRegistry<T>, { options, observer, user }: WatchedObjects<T>) {
    this.#registry = registry;
    this.#user = user;
    this.#options = options;
    this.#observer = observer;
  }

  /** Undefined while the watch waits for a future version: a bookmark before that version would send its client back. */
  get progress(): number | undefined {
    const { revision } = this.#registry.cache;
    return this.#isReady && revision >= this.#skippedRevision ? revision : undefined;
  }

  stop(): void {
    this.#isOver = true;
    this.#cacheWatch?.stop();
  }

  async run(): Promise<void> {
    const registry = this.#registry;
    try {
      const wanted = beginsWithState(this.#options) ? parseResourceVersion(this.#options.resourceVersion) : 0;
      if (registry.cache.revision < wanted) await registry.waitForRevision(wanted, { isForWatch: true });
      if (this.#isOver) return;
      this.#observer.onStart?.();
      await untilReady(registry, this.#options);
      if (!this.#isOver) await this.#follow();
    } catch (error) {
      this.#end(error);
    }
  }

  async #follow(): Promise<void> {
    const { cache } = this.#registry;
    const { selector, resourceVersion, sendsInitialEvents } = this.#options;
    const current = cache.revision;
    const given = parseResourceVersion(resourceVersion);
    const beginsHere = beginsWithState(this.#options);
    // No await between the read of the existing objects and the start of the cache's watch: a change in between would be lost.
    const existing = beginsHere ? existingObjects(cache, selector) : [];
    this.#waiting = [];
    this.#skippedRevision = beginsHere || given === 0 ? current : given;
    this.#watchCache(current);
    await this.#notifyOfEach(existing, (stored) => {
      if (selector.matches(stored)) this.#observer.onChange("ADDED", stored);
    });
    if (beginsHere && sendsInitialEvents === true && !this.#isOver) this.#observer.onInitialEventsEnd(current);
    while (this.#waiting.length > 0) {
      const events = this.#waiting;
      this.#waiting = [];
      this.#waitingCharacters = 0;
      await this.#notifyOfEach(events, (event) => this.#notify(event));
    }
    this.#waiting = undefined;
    if (this.#isOver) return;
    this.#isReady = true;
    this.#observer.onReady();
  }

  #watchCache(current: number): void {
    const { cache } = this.#registry;
    const { selector } = this.#options;
    try {
      this.#cacheWatch = cache.watch({
        ...selector.range,
        where: selector.lookup,
        afterRevision: Math.min(this.#skippedRevision, current),
        onEvent: (event) => this.#take(event),
        onEnd: (error) => this.#end(forClient(error, { wanted: current, oldest: cache.oldestRevision })),
      });
    } catch (error) {
      throw forClient(error, { wanted: this.#skippedRevision, oldest: cache.oldestRevision });
    }
  }

  #take(event: CacheEvent<StoredObject<T>>): void {
    if (event.revision <= this.#skippedRevision) return;
    if (this.#waiting === undefined) return this.#notify(event);
    this.#waitingCharacters += (event.type === "put" ? event.object : event.previous)?.textLength ?? 0;
    const isTooMuch = this.#waitingCharacters > maximumWaitingCharacters;
    if (this.#waiting.push(event) > maximumWaitingEvents || isTooMuch) {
      throw new RevisionCompacted(this.#registry.cache.oldestRevision);
    }
  }

  #notify(event: CacheEvent<StoredObject<T>>): void {
    const change = selectedChange(this.#options.selector, event);
    if (change !== undefined) this.#observer.onChange(change.type, change.object);
  }

  /** Calls `notify` for each value, in turns, so that other requests run in between. */
  async #notifyOfEach<V>(values: Iterable<V>, notify: (value: V) => void): Promise<void> {
    const work = new LongWork(this.#user);
    for (const value of values) {
      if (this.#isOver) return;
      notify(value);
      const pause = this.#observer.untilRead?.() ?? work.pause();
      if (pause !== undefined) await pause;
    }
  }

  #end(error: unknown): void {
    if (this.#isOver) return;
    this.stop();
    this.#observer.onEnd(asError(error));
  }
}

/** The change that an event is for the watches of a selector. */
interface SelectedChange<T extends ApiObject> {
  readonly type: ChangeType;
  readonly object: StoredObject<T>;
}

/** The last event, and its change for each selector, by the selector's text. Kept because all watches get an event one after the other. */
let lastEvent:
  | { readonly event: object; readonly changes: Map<string, SelectedChange<ApiObject> | undefined> }
  | undefined;

function selectedChange<T extends ApiObject>(
  selector: ListOptions<T>["selector"],
  event: CacheEvent<StoredObject<T>>,
): SelectedChange<T> | undefined {
  if (lastEvent?.event !== event) lastEvent = { event, changes: new Map() };
  const { changes } = lastEvent;
  if (!changes.has(selector.text)) changes.set(selector.text, selectedChangeOf(event, selector));
  return changes.get(selector.text) as unknown as SelectedChange<T> | undefined; // made of this event of T
}

/** For a watch, an object is added when it begins to match, and deleted when it no longer matches. */
function selectedChangeOf<T extends ApiObject>(
  event: CacheEvent<StoredObject<T>>,
  { matches }: ListOptions<T>["selector"],
): SelectedChange<T> | undefined {
  const isSelected = event.type === "put" && matches(event.object);
  const wasSelected = event.previous !== undefined && matches(event.previous);
  if (event.type === "put" && isSelected) return { type: wasSelected ? "MODIFIED" : "ADDED", object: event.object };
  return wasSelected ? { type: "DELETED", object: lastState(event) } : undefined;
}

const lastStates = new WeakMap<object, StoredObject>();

/** The object before the event, at the event's revision. Created once for all watches. */
function lastState<T extends ApiObject>(event: CacheEvent<StoredObject<T>>): StoredObject<T> {
  const known = lastStates.get(event);
  if (known !== undefined) return known as StoredObject<T>; // created below, from the same event
  if (event.previous === undefined) throw new Error("nothing was there before this event");
  const made = event.previous.at(event.revision);
  lastStates.set(event, made);
  return made;
}

function forClient(error: unknown, { wanted, oldest }: { readonly wanted: number; readonly oldest: number }): Error {
  if (error instanceof ApiError) return error;
  if (error instanceof RevisionCompacted) return expired(`too old resource version: ${wanted} (${oldest})`);
  return asError(error);
}
