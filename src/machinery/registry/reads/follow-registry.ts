import { ApiError } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { asError } from "../../api/thrown-error.ts";
import { differences } from "./differences.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { resourceRange } from "../stored/storage-key.ts";
import type { StoredObject } from "../stored/stored-object.ts";
import { RevisionCompacted } from "../../storage/store.ts";
import type { CacheEvent } from "../../storage/watch-cache/cache-event.ts";
import type { CachedObjects } from "../../storage/watch-cache/watch-cache.ts";

export interface RegistryFollower<T extends ApiObject> {
  /**
   * Called at the start, and when events can't describe a change: discard everything that was derived from the cache before. This happens
   * when an object can't be decrypted or becomes readable, after `onEvent` has thrown, and when old versions are lost in a reload of the
   * cache. An error at the start prevents the server's start. After a later error, the old state stays in use, and events continue.
   */
  onLoaded(): void;
  /**
   * When it throws, for instance because the text of `previous` is lost, `onLoaded` is called instead. So read `previous` before you
   * change anything.
   */
  onEvent(event: CacheEvent<StoredObject<T>>): void;
}

/**
 * Follows the cache of a resource until the cache is closed. Call it after the registry has started. An error of the follower that is
 * not an ApiError is a bug: it becomes an unhandled rejection, which the process logs, and the follower continues.
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
  let isCurrent = true;
  const reload = (): void => void (isCurrent = attempt(() => follower.onLoaded()));
  const take = (event: CacheEvent<StoredObject<T>>): boolean =>
    isReadable(event) && attempt(() => follower.onEvent(event));
  /**
   * Passes on the changes of a reload as events. Returns whether the follower has taken all of them. Continues after an object that can't
   * be read: because of that object `onLoaded` may fail too, and then only these events report the other changes.
   */
  const takeChangesSince = (before: CachedObjects<StoredObject<T>>): boolean => {
    let isAll = true;
    for (const difference of differences(before.snapshot(range), cache.snapshot(range))) {
      if (difference === undefined) continue;
      const { object, previous } = difference;
      const isTaken =
        object === undefined
          ? take({ type: "delete", key: previous.key, revision: cache.revision, previous })
          : take({ type: "put", key: object.key, revision: object.revision, object, previous });
      isAll &&= isTaken;
    }
    return isAll;
  };
  const follow = (): void => {
    cache.watch({
      ...range,
      afterRevision: cache.revision,
      onEvent(event) {
        if (!take(event)) reload();
      },
      onEnd(error, before) {
        if (!(error instanceof RevisionCompacted)) return;
        const isAllTaken = before !== undefined && takeChangesSince(before);
        if (!isCurrent || !isAllTaken) reload();
        follow();
      },
    });
  };
  follower.onLoaded();
  follow();
}

const isReadable = <T extends ApiObject>(event: CacheEvent<StoredObject<T>>): boolean =>
  event.previous?.unreadable === undefined && (event.type === "delete" || event.object.unreadable === undefined);
