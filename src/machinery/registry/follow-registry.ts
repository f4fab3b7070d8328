import type { ApiObject } from "../api/object-meta.ts";
import type { ResourceRegistry } from "./resource-registry.ts";
import { resourcePrefix } from "./storage-key.ts";
import type { StoredObject } from "./stored-object.ts";
import { prefixEnd, RevisionCompacted } from "../storage/store.ts";
import type { CacheEvent } from "../storage/watch-cache.ts";

export interface RegistryFollower<T extends ApiObject> {
  /** Called at the start, and whenever the cache had to reload: discard what was derived from it before. */
  onLoaded(): void;
  onEvent(event: CacheEvent<StoredObject<T>>): void;
}

/** Follows the cache of a resource until it is closed. Call it after the registry has started. */
export function followRegistry<T extends ApiObject>(
  { cache, definition }: ResourceRegistry<T>,
  follower: RegistryFollower<T>,
): void {
  const start = resourcePrefix(definition);
  const follow = (): void => {
    follower.onLoaded();
    cache.watch({
      start,
      end: prefixEnd(start),
      afterRevision: cache.revision,
      onEvent: (event) => follower.onEvent(event),
      onEnd: (error) => {
        if (error instanceof RevisionCompacted) follow();
      },
    });
  };
  follow();
}
