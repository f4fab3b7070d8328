import { ApiError } from "../api/api-error.ts";
import { withoutManagedFields } from "../api/object-meta.ts";
import { monotonicClock, unreferencedSleep } from "../api/clock.ts";
import type { Clock, Sleep } from "../api/clock.ts";
import type { ApiList, ApiObject } from "../api/object-meta.ts";
import { EndlessList, listPages } from "../client/list-pages.ts";
import type { ListOptions, ResourceClient } from "../client/api-client.ts";
import type { WatchEvent } from "../client/watch-events.ts";
import { backoffMilliseconds } from "./backoff.ts";
import type { Backoff } from "./backoff.ts";
import type { ObjectBudget } from "./object-budget.ts";

/** Handles the changes of a resource. Each function is called synchronously, in the order of the changes. */
export interface InformerHandler<T extends ApiObject> {
  /**
   * Names of fields that the handler reads. Objects without any of them, before and after a change, need not be parsed, and
   * `onAdd` and `onUpdate` need not be called for them. Absent: every object counts.
   */
  readonly fields?: readonly string[];
  /**
   * Called before an object is read. False: the handler does not need objects now, so they need not be parsed, and `onAdd` and
   * `onUpdate` need not be called for them. Absent: it always needs them.
   */
  isInterested?(): boolean;
  onAdd?(object: T): void;
  onUpdate?(object: T, previous: T): void;
  onDelete?(object: T): void;
}

/**
 * A copy of the objects of a resource that is at most a moment old. All readers share the objects and must not change
 * them. The objects have no managedFields: no controller reads these, and an update without managedFields keeps the stored ones.
 */
export interface FollowedObjects<T extends ApiObject> {
  /** Throws an ApiError for an object that cannot be read. */
  get(key: string): T | undefined;
  /**
   * All objects, in no particular order. Each may be parsed only when the iteration reaches it. Throws an ApiError when an object
   * cannot be read.
   */
  list(): IterableIterator<T>;
  /** Adds a handler. It first receives an event for each existing object. */
  addHandler(handler: InformerHandler<T>): void;
  /** Follows the resource until `signal` aborts. Call it once. Resolves when the handlers have got every existing object. */
  start(signal: AbortSignal): Promise<void>;
}

export interface InformerOptions {
  readonly selectors?: Pick<ListOptions, "labelSelector" | "fieldSelector">;
  /** Called for every failed list or watch, which the informer retries by itself, and for everything that a handler throws. */
  readonly onError?: (error: unknown) => void;
  /** Called after each complete list, when a watch begins, and after each of its events: each shows that the server works. */
  readonly onHeard?: () => void;
  /** The pauses between watches, which grow while watches fail. Default: from 100 ms to 10 s. */
  readonly backoff?: Backoff;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random?: () => number;
  readonly sleep?: Sleep;
  /** A clock that is never set. */
  readonly monotonic?: Clock;
  /**
   * The largest number of objects, which are then listed in one answer. While the server has more objects, that is an error, and the local
   * copy keeps its state. Default: no limit.
   */
  readonly mostObjects?: number;
  /**
   * After events of so many bytes, the informer lists again and drops the objects that are not in the list. The client limits the size of a
   * list, but nothing else limits the objects that a server could add with watch events. Default: no limit.
   */
  readonly mostWatchedBytes?: number;
  /** The budget for the memory of all objects. When it is used up, the list or the watch fails with TooManyObjects. Default: no limit. */
  readonly budget?: ObjectBudget;
}

const defaultBackoff: Backoff = { firstMilliseconds: 100, longestMilliseconds: 10_000 };

/** A watch that ends sooner has failed, even if it sent events (client-go's `VeryShortWatch` is only a watch without events). */
const shortestWatchMilliseconds = 1000;

/** The key of an object in an informer: `namespace/name`, or only the name of a cluster-scoped object. */
export const objectKey = ({ metadata }: ApiObject): string =>
  metadata.namespace === undefined ? (metadata.name ?? "") : `${metadata.namespace}/${metadata.name ?? ""}`;

/**
 * A local cache of a resource that follows the server: it lists, then watches from there. A broken watch resumes at the
 * last seen version. When that version is gone (410), it lists again and reports the differences as events.
 */
export class Informer<T extends ApiObject> implements FollowedObjects<T> {
  readonly #objects = new Map<string, T>();
  readonly #handlers: InformerHandler<T>[] = [];
  readonly #resource: ResourceClient<T>;
  readonly #options: InformerOptions;
  #synced: Promise<void> | undefined;
  /** The resourceVersion after which the next watch begins. Empty: the informer must list first. */
  #version = "";
  /** The bytes of all events since the last list. */
  #watchedBytes = 0;

  constructor(resource: ResourceClient<T>, options: InformerOptions = {}) {
    this.#resource = resource;
    this.#options = options;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): IterableIterator<T> {
    return this.#objects.values();
  }

  addHandler(handler: InformerHandler<T>): void {
    this.#handlers.push(handler);
    for (const object of this.#objects.values()) handler.onAdd?.(object);
  }

  start(signal: AbortSignal): Promise<void> {
    this.#synced ??= new Promise((resolve) => void this.#follow(signal, resolve));
    return this.#synced;
  }

  async #follow(signal: AbortSignal, onSynced: () => void): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      if (await this.#followOnce(signal, onSynced)) failures = 0;
      if (!signal.aborted) await this.#pause(failures, signal);
    }
    onSynced();
  }

  /** Lists if it must, then watches until the watch ends. Returns whether the watch sent an event and lasted long enough. */
  async #followOnce(signal: AbortSignal, onSynced: () => void): Promise<boolean> {
    const { selectors, monotonic = monotonicClock, mostWatchedBytes = Infinity, onHeard = () => {} } = this.#options;
    let isHeard = false;
    let watchedSince = Infinity;
    try {
      if (this.#version === "") {
        this.#version = await this.#relist(signal);
        this.#watchedBytes = 0;
        onSynced();
        onHeard();
      }
      watchedSince = monotonic.now();
      const selection = { ...selectors, resourceVersion: this.#version, allowsBookmarks: true, onOpen: onHeard };
      for await (const event of this.#resource.watch(selection, signal)) {
        isHeard = true;
        this.#watchedBytes += event.bytes;
        if (this.#watchedBytes > mostWatchedBytes) {
          this.#version = "";
          break;
        }
        this.#version = event.object.metadata.resourceVersion ?? this.#version;
        this.#take(event);
        onHeard();
      }
    } catch (error) {
      if (signal.aborted) return false;
      if (error instanceof EndlessList || (error instanceof ApiError && error.code === 410)) this.#version = "";
      this.#options.onError?.(error);
    }
    return isHeard && monotonic.now() - watchedSince >= shortestWatchMilliseconds;
  }

  /** A watch that keeps ending immediately must not become a busy loop: every round except the first waits. */
  async #pause(failures: number, signal: AbortSignal): Promise<void> {
    const { backoff = defaultBackoff, random = Math.random, sleep = unreferencedSleep } = this.#options;
    await sleep(backoffMilliseconds(backoff, { failures: failures + 1, random: random() }), signal);
  }

  async #relist(signal: AbortSignal): Promise<string> {
    const seen = new Set<string>();
    let version = "";
    for await (const { items, metadata } of this.#pages(signal)) {
      this.#checkNumber(items.length + (metadata.continue ? Infinity : 0));
      for (const object of items) {
        seen.add(objectKey(object));
        this.#put(object);
      }
      version = metadata.resourceVersion ?? "";
    }
    for (const [key, object] of this.#objects) if (!seen.has(key)) this.#remove(object);
    return version;
  }

  /** The pages of the list. With `mostObjects`, one answer, whose size limit is then the limit of all that is kept. */
  #pages(signal: AbortSignal): AsyncIterable<ApiList<T>> | Iterable<Promise<ApiList<T>>> {
    const { selectors, mostObjects: limit } = this.#options;
    if (limit === undefined) return listPages(this.#resource, { ...selectors, signal });
    return [this.#resource.list({ ...selectors, limit })];
  }

  #take({ type, object }: WatchEvent<T>): void {
    if (type === "DELETED") this.#remove(object);
    else if (type !== "BOOKMARK") {
      if (!this.#objects.has(objectKey(object))) this.#checkNumber(this.#objects.size + 1);
      this.#put(object);
    }
  }

  #checkNumber(objects: number): void {
    const { mostObjects = Infinity } = this.#options;
    if (objects > mostObjects) throw new EndlessList(`there are more than ${mostObjects} objects`);
  }

  #put(received: T): void {
    const key = objectKey(received);
    const previous = this.#objects.get(key);
    if (previous !== undefined && previous.metadata.resourceVersion === received.metadata.resourceVersion) return;
    const object = withoutManagedFields(received);
    this.#options.budget?.replace(previous, object);
    this.#objects.set(key, object);
    this.#notifyHandlers((handler) => {
      if (previous === undefined) handler.onAdd?.(object);
      else handler.onUpdate?.(object, previous);
    });
  }

  #remove(object: T): void {
    const key = objectKey(object);
    this.#options.budget?.replace(this.#objects.get(key), undefined);
    if (!this.#objects.delete(key)) return;
    this.#notifyHandlers((handler) => handler.onDelete?.(object));
  }

  #notifyHandlers(call: (handler: InformerHandler<T>) => void): void {
    notifyEach(this.#handlers, { call, onError: (error) => this.#options.onError?.(error) });
  }
}

/** Calls each handler for a change. An error of one handler goes to `onError`, and the others are still called. */
export function notifyEach<T extends ApiObject>(
  handlers: readonly InformerHandler<T>[],
  {
    call,
    onError,
  }: { readonly call: (handler: InformerHandler<T>) => void; readonly onError: (error: unknown) => void },
): void {
  for (const handler of handlers) {
    try {
      call(handler);
    } catch (error) {
      onError(error);
    }
  }
}
