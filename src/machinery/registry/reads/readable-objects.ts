import type { ApiObject } from "../../api/object-meta.ts";
import { prefixRange } from "../../storage/key-range.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { resourcePrefix } from "../stored/storage-key.ts";
import type { ObjectName } from "../stored/storage-key.ts";
import type { StoredObject } from "../stored/stored-object.ts";

/**
 * The readable objects of a resource whose keys, without the resource's prefix, begin with `below`, such as `default/`. Shows their state
 * when the first object is taken, also to a reader that takes several turns of the event loop.
 */
export function* readableObjects<T extends ApiObject>(
  { cache, definition }: ResourceRegistry<T>,
  below = "",
): IterableIterator<StoredObject<T>> {
  for (const stored of cache.snapshot(prefixRange(resourcePrefix(definition) + below))) {
    if (canBeRead(stored)) yield stored;
  }
}

/** The cached object of a name. "unreadable": the object exists, but it can't be decrypted, or its text in the store is lost or damaged. */
export function readableObject<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  name: ObjectName,
): T | "unreadable" | undefined {
  const stored = registry.peek(name);
  return stored === undefined || canBeRead(stored) ? stored?.object : "unreadable";
}

const canBeRead = (stored: StoredObject): boolean => stored.unreadable === undefined && stored.loadText().hasText;
