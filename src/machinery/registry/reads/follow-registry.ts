import { ApiError } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { asError } from "../../api/thrown-error.ts";
import { differences } from "./differences.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { resourceRange } from "../stored/storage-key.ts";
import type { StoredObject } from "../stored/stored-object.ts";
import { RevisionCompacted } from "../../storage/store.ts";
import type { CacheEvent } from "../../storage/cache-event.ts";
import type { CachedObjects } from "../../storage/watch-cache.ts";

export interface RegistryFollower<T extends ApiObject> {
  /**
   * Called at the start, and when events can't tell what has changed: discard what was derived from the cache before. So when an
   * object can't be decrypted or becomes readable, after an event that could not be taken, and when the cache had to reload and old
   * versions are lost. An error that it throws prevents the server's start; later, the old state stays in use, and events go on from there.
   */
  onLoaded(): void;
  /**
   * When it throws, as for a `previous` whose text is lost, `onLoaded` is called in its place. So read `previous` before you change
   * anything.
   */
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
  let isCurrent = true;
  const reload = (): void => void (isCurrent = attempt(() => follower.onLoaded()));
  const take = (event: CacheEvent<StoredObject<T>>): boolean =>
    isReadable(event) && attempt(() => follower.onEvent(event));
  /**
   * Tells what events can, and whether that is all that has changed. What comes after an object that can't be read is told too: nothing
   * else may tell it, when the follower can't start from the current objects because of that one.
   */
  const tell = (before: CachedObjects<StoredObject<T>>): boolean => {
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
        const isAllTold = before !== undefined && tell(before);
        if (!isCurrent || !isAllTold) reload();
        follow();
      },
    });
  };
  follower.onLoaded();
  follow();
}

const isReadable = <T extends ApiObject>(event: CacheEvent<StoredObject<T>>): boolean =>
  event.previous?.unreadable === undefined && (event.type === "delete" || event.object.unreadable === undefined);
