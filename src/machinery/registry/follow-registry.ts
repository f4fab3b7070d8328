import { prefixRange } from "../storage/key-range.ts";
import { ApiError } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { asError } from "../api/thrown-error.ts";
import type { ResourceRegistry } from "./resource-registry.ts";
import { resourcePrefix, resourceRange } from "./storage-key.ts";
import type { StoredObject } from "./stored-object.ts";
import { RevisionCompacted } from "../storage/store.ts";
import type { CacheEvent } from "../storage/cache-event.ts";

export interface RegistryFollower<T extends ApiObject> {
  /**
   * Called at the start, and whenever the cache had to reload: discard what was derived from it before. Also when an object
   * can't be decrypted, and after an event that could not be taken. An error that it throws prevents the server's start; later, the
   * old state stays in use until the next event.
   */
  onLoaded(): void;
  /** When it throws, `onLoaded` is called in its place. */
  onEvent(event: CacheEvent<StoredObject<T>>): void;
}

/**
 * Follows the cache of a resource until it is closed. Call it after the registry has started. An error of the follower that is not an
 * ApiError is a bug: it becomes an unhandled rejection, which the process logs, and the follower goes on.
 */
export function followRegistry<T extends ApiObject>(
  { cache, definition }: ResourceRegistry<T>,
  follower: RegistryFollower<T>,
): void {
  const range = resourceRange(definition);
  const attempt = (call: () => void): boolean => {
    try {
      call();
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) void Promise.reject(asError(error));
      return false;
    }
  };
  const reload = (): void => void attempt(() => follower.onLoaded());
  const follow = (): void => {
    cache.watch({
      ...range,
      afterRevision: cache.revision,
      onEvent(event) {
        if (!isReadable(event) || !attempt(() => follower.onEvent(event))) reload();
      },
      onEnd(error) {
        if (!(error instanceof RevisionCompacted)) return;
        reload();
        follow();
      },
    });
  };
  follower.onLoaded();
  follow();
}

const isReadable = <T extends ApiObject>(event: CacheEvent<StoredObject<T>>): boolean =>
  event.previous?.unreadable === undefined && (event.type === "delete" || event.object.unreadable === undefined);

/**
 * The objects of a resource below a part of its keys, such as `default/`, without those that can't be decrypted: as they are when the
 * first one is taken, also for a reader that takes several turns of the event loop.
 */
export function* readableObjects<T extends ApiObject>(
  { cache, definition }: ResourceRegistry<T>,
  below = "",
): IterableIterator<StoredObject<T>> {
  for (const stored of cache.snapshot(prefixRange(resourcePrefix(definition) + below))) {
    if (stored.unreadable === undefined) yield stored;
  }
}
