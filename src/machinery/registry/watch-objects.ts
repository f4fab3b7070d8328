import { ApiError, expired } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { RevisionCompacted } from "../storage/store.ts";
import type { CacheEvent } from "../storage/watch-cache.ts";
import type { ListOptions } from "./list-options.ts";
import type { ResourceRegistry } from "./resource-registry.ts";
import { parseResourceVersion } from "./resource-version.ts";
import type { StoredObject } from "./stored-object.ts";

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

/** Receives the events of a watch, in revision order. */
export interface ObjectObserver<T extends ApiObject> {
  /** Every observer receives the same `object` for the same change, so that its encodings can be shared. */
  onChange(type: ChangeType, object: StoredObject<T>): void;
  /** The client asked for the initial state, and it is complete. Changes after the revision follow. */
  onInitialEventsEnd(revision: number): void;
  /** The initial state and the kept history are complete. From now on, events are live. */
  onReady(): void;
  /** The last call. An ApiError is meant for the client; any other error is a failure of the store. */
  onEnd(error: Error): void;
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
 * Sends the events of the selected objects to an observer. Without a version, or at "0", it starts with the existing
 * objects. With a version, it replays the events after it. With a future version, it waits silently until then. With a
 * version that is no longer kept, the watch ends with a 410.
 */
export function watchObjects<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { options, observer }: { readonly options: ListOptions<T>; readonly observer: ObjectObserver<T> },
): ObjectWatch {
  let isStopped = false;
  let watch: ObjectWatch | undefined;
  const begin = async (): Promise<void> => {
    try {
      await untilReady(registry, options);
      if (!isStopped) watch = follow(registry, { options, observer, isStopped: () => isStopped });
      if (isStopped) watch?.stop();
    } catch (error) {
      if (!isStopped) observer.onEnd(error instanceof Error ? error : new Error(String(error)));
    }
  };
  void begin();
  return {
    get progress() {
      return watch?.progress;
    },
    stop() {
      isStopped = true;
      watch?.stop();
    },
  };
}

/** Whether the watch starts with the existing objects. */
const beginsWithState = <T extends ApiObject>({ sendsInitialEvents, resourceVersion }: ListOptions<T>): boolean =>
  sendsInitialEvents ?? (resourceVersion === "" || resourceVersion === "0");

async function untilReady<T extends ApiObject>(registry: ResourceRegistry<T>, options: ListOptions<T>): Promise<void> {
  if (options.resourceVersion === "") await registry.waitForFreshCache();
  else if (beginsWithState(options)) await registry.waitForRevision(parseResourceVersion(options.resourceVersion));
}

/** Must not wait between here and the start of the cache's watch: changes would be lost. */
function follow<T extends ApiObject>(
  { cache }: ResourceRegistry<T>,
  {
    options,
    observer,
    isStopped,
  }: { readonly options: ListOptions<T>; readonly observer: ObjectObserver<T>; readonly isStopped: () => boolean },
): ObjectWatch | undefined {
  const { selector, resourceVersion } = options;
  const current = cache.revision;
  const given = parseResourceVersion(resourceVersion);
  const skippedRevision = beginsWithState(options) || given === 0 ? current : given;
  if (beginsWithState(options)) {
    for (const stored of cache.range(selector.range)) {
      if (isStopped()) return undefined;
      if (selector.matches(stored)) observer.onChange("ADDED", stored);
    }
    if (options.sendsInitialEvents === true) observer.onInitialEventsEnd(current);
  }
  try {
    const watch = cache.watch({
      ...selector.range,
      where: selector.lookup,
      afterRevision: Math.min(skippedRevision, current),
      onEvent(event) {
        if (event.revision > skippedRevision) tell(event, { options, observer });
      },
      onEnd: (error) => observer.onEnd(forClient(error, { wanted: current, oldest: cache.oldestRevision })),
    });
    observer.onReady();
    return {
      // A watch of a future version has seen nothing before that version. An earlier bookmark would send its client back.
      get progress() {
        return cache.revision >= skippedRevision ? cache.revision : undefined;
      },
      stop: () => watch.stop(),
    };
  } catch (error) {
    throw forClient(error, { wanted: skippedRevision, oldest: cache.oldestRevision });
  }
}

/** What an event means to the watches of a selector. */
interface News {
  readonly type: ChangeType;
  readonly object: StoredObject;
}

/** The last event and what it means by the selector's text: all watches get the same event, one after the other. */
let last: { readonly event: object; readonly news: Map<string, News | "nothing"> } | undefined;

function tell<T extends ApiObject>(
  event: CacheEvent<StoredObject<T>>,
  { options: { selector }, observer }: { readonly options: ListOptions<T>; readonly observer: ObjectObserver<T> },
): void {
  if (last?.event !== event) last = { event, news: new Map() };
  let news = last.news.get(selector.text);
  if (news === undefined) last.news.set(selector.text, (news = newsOf(event, selector)));
  if (news !== "nothing") observer.onChange(news.type, news.object as unknown as StoredObject<T>); // made of this event of T
}

/** For a watch, an object appears when it starts to match and disappears when it stops to match. */
function newsOf<T extends ApiObject>(
  event: CacheEvent<StoredObject<T>>,
  { matches }: ListOptions<T>["selector"],
): News | "nothing" {
  const isSelected = event.type === "put" && matches(event.object);
  const wasSelected = event.previous !== undefined && matches(event.previous);
  if (event.type === "put" && isSelected) return { type: wasSelected ? "MODIFIED" : "ADDED", object: event.object };
  return wasSelected ? { type: "DELETED", object: lastState(event) } : "nothing";
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
  return error instanceof Error ? error : new Error(String(error));
}
