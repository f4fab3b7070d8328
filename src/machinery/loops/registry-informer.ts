import { LongWork } from "../scheduling/long-work.ts";
import { withoutManagedFields } from "../api/object-meta.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { differences } from "../registry/reads/differences.ts";
import type { ResourceRegistry } from "../registry/resource-registry.ts";
import { resourceRange } from "../registry/stored/storage-key.ts";
import type { StoredObject } from "../registry/stored/stored-object.ts";
import { RevisionCompacted } from "../storage/store.ts";
import type { CacheEvent } from "../storage/watch-cache/cache-event.ts";
import { notifyEach } from "./informer.ts";
import type { FollowedObjects, InformerHandler } from "./informer.ts";
import type { KeyRange } from "../storage/key-range.ts";

/** When more changes than this wait, they are handled without a pause. */
const maximumWaiting = 1000;

type Change<T extends ApiObject> = Pick<CacheEvent<StoredObject<T>>, "previous"> & {
  /** Undefined after a deletion. */
  readonly object: StoredObject<T> | undefined;
};

/** The objects of the cache before it was loaded again, and after. */
interface Reload<T extends ApiObject> {
  readonly before: Iterable<StoredObject<T>>;
  readonly after: Iterable<StoredObject<T>>;
}

/**
 * The old texts of replaced or deleted objects are lost, because the store was compacted beyond the revision that this process had seen.
 * Handlers did not get these old objects, so what they have derived from earlier events may be wrong. Start the handlers anew.
 */
export class ChangesLost extends Error {
  override readonly name = "ChangesLost";

  constructor(keys: number) {
    super(`the old versions of ${keys} objects are no longer kept: the loops have to look at everything again`);
  }
}

export interface RegistryInformerOptions {
  /** Called for everything that a handler throws, for objects that cannot be read, and with ChangesLost. */
  readonly onError: (error: unknown) => void;
}

/**
 * The counterpart of Informer for loops in the server's own process. They read the server's copy of the objects instead of
 * keeping a second one, and an object is parsed only when a handler needs it. Handlers run in later turns of the event loop,
 * and long work takes several turns, so that requests are answered in between.
 */
export class RegistryInformer<T extends ApiObject> implements FollowedObjects<T> {
  readonly #registry: ResourceRegistry<T>;
  readonly #onError: (error: unknown) => void;
  readonly #range: KeyRange;
  readonly #handlers: InformerHandler<T>[] = [];
  /** The changes that the handlers have not got yet. */
  #changes: (Change<T> | Reload<T>)[] = [];
  #wake = (): void => {};
  #synced: Promise<void> | undefined;

  constructor(registry: ResourceRegistry<T>, { onError }: RegistryInformerOptions) {
    this.#registry = registry;
    this.#onError = onError;
    this.#range = resourceRange(registry.definition);
  }

  get(key: string): T | undefined {
    const stored = this.#registry.cache.get(this.#range.start + key);
    return stored && this.#objectOf(stored);
  }

  *list(): IterableIterator<T> {
    for (const stored of this.#registry.cache.snapshot(this.#range)) yield this.#objectOf(stored);
  }

  /** Throws after `start`, because the handler would miss the existing objects. */
  addHandler(handler: InformerHandler<T>): void {
    if (this.#synced !== undefined) throw new TypeError("a handler is added before its informer starts");
    this.#handlers.push(handler);
  }

  start(signal: AbortSignal): Promise<void> {
    this.#synced ??= new Promise((resolve) => void this.#run(signal, resolve));
    return this.#synced;
  }

  async #run(signal: AbortSignal, onSynced: () => void): Promise<void> {
    const existing = this.#registry.cache.snapshot(this.#range);
    this.#follow(signal);
    await this.#notifyOfAll(asNew(existing), signal);
    onSynced();
    while (!signal.aborted) {
      if (this.#changes.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      const changes = this.#changes;
      this.#changes = [];
      await this.#notifyOfAll(this.#changesOf(changes), signal);
    }
  }

  async #notifyOfAll(changes: Iterable<Change<T> | undefined>, signal: AbortSignal): Promise<void> {
    const work = new LongWork();
    for (const change of changes) {
      if (signal.aborted) return;
      if (change !== undefined) this.#notifyHandlers(change);
      // Without a pause, requests wait that write faster than the handlers work.
      const pause = this.#changes.length < maximumWaiting ? work.pause() : undefined;
      if (pause !== undefined) await pause;
    }
  }

  #follow(signal: AbortSignal): void {
    if (signal.aborted) return;
    const { cache } = this.#registry;
    const watch = cache.watch({
      ...this.#range,
      afterRevision: cache.revision,
      onEvent: (event) =>
        this.#add({ object: event.type === "put" ? event.object : undefined, previous: event.previous }),
      onEnd: (error, before) => {
        if (!(error instanceof RevisionCompacted) || before === undefined) return;
        signal.removeEventListener("abort", stop);
        this.#add({ before: before.snapshot(this.#range), after: cache.snapshot(this.#range) });
        this.#follow(signal);
      },
    });
    const stop = (): void => {
      watch.stop();
      this.#wake();
    };
    signal.addEventListener("abort", stop, { once: true });
  }

  /** The changes one by one. Undefined stands for an object that a reload has not changed: the caller may pause there too. */
  *#changesOf(changes: Iterable<Change<T> | Reload<T>>): IterableIterator<Change<T> | undefined> {
    for (const change of changes) {
      if ("after" in change) yield* this.#changesOfReload(change);
      else yield change;
    }
  }

  *#changesOfReload({ before, after }: Reload<T>): IterableIterator<Change<T> | undefined> {
    let lost = 0;
    for (const difference of differences(before, after)) {
      if (difference?.previous?.hasText !== false) yield difference;
      else {
        lost += 1;
        if (difference.object !== undefined) yield { object: difference.object, previous: undefined };
      }
    }
    if (lost > 0) this.#onError(new ChangesLost(lost));
  }

  #add(change: Change<T> | Reload<T>): void {
    this.#changes.push(change);
    // In a later turn, so that the writers get their answers first.
    if (this.#changes.length === 1) setImmediate(() => this.#wake());
  }

  #notifyHandlers({ object, previous }: Change<T>): void {
    const read = (stored: StoredObject<T>): T => this.#objectOf(stored);
    const change = {
      next: object && new ReadVersion(object, read),
      previous: previous && new ReadVersion(previous, read),
    };
    notifyEach(this.#handlers, { call: (handler) => notifyHandler(handler, change), onError: this.#onError });
  }

  #objectOf(stored: StoredObject<T>): T {
    return withoutManagedFields(this.#registry.served.object(stored.object));
  }
}

/** One version of an object. It is parsed once for all handlers, when the first of them needs it. */
class ReadVersion<T extends ApiObject> {
  readonly stored: StoredObject<T>;
  readonly #read: (stored: StoredObject<T>) => T;
  #object: T | undefined;

  constructor(stored: StoredObject<T>, read: (stored: StoredObject<T>) => T) {
    this.stored = stored;
    this.#read = read;
  }

  get object(): T {
    return (this.#object ??= this.#read(this.stored));
  }
}

/** Calls the handler for a change. `next` is undefined after a deletion. */
function notifyHandler<T extends ApiObject>(
  handler: InformerHandler<T>,
  { next, previous }: { readonly next: ReadVersion<T> | undefined; readonly previous: ReadVersion<T> | undefined },
): void {
  if (next === undefined) {
    if (previous !== undefined && handler.onDelete !== undefined) handler.onDelete(previous.object);
    return;
  }
  const { fields } = handler;
  if (handler.isInterested?.() === false) return;
  if (fields !== undefined && !next.stored.hasAnyField(fields) && previous?.stored.hasAnyField(fields) !== true) return;
  // An object that could not be read before is new for the handlers.
  if (previous === undefined || previous.stored.unreadable !== undefined) {
    if (handler.onAdd !== undefined) handler.onAdd(next.object);
  } else if (handler.onUpdate !== undefined) handler.onUpdate(next.object, previous.object);
}

function* asNew<T extends ApiObject>(objects: Iterable<StoredObject<T>>): IterableIterator<Change<T>> {
  for (const object of objects) yield { object, previous: undefined };
}
