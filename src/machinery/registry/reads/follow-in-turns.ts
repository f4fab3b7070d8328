import type { ApiObject } from "../../api/object-meta.ts";
import { LongWork } from "../../scheduling/long-work.ts";
import { followRegistry } from "./follow-registry.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { resourceRange } from "../stored/storage-key.ts";
import type { StoredObject } from "../stored/stored-object.ts";

/** Data that is derived from the objects of a resource, from each object independently. */
export interface DerivedObjects<T extends ApiObject> {
  clear(): void;
  /** Adds an object. It may be one that can't be decrypted, whose contents throw. */
  add(stored: StoredObject<T>): void;
  /** Removes an object. Does nothing for an object that was not added, because it was not read yet. */
  remove(stored: StoredObject<T>): void;
}

/**
 * Follows a resource as `followRegistry` does, and reads the existing objects in turns, because there may be a million of them. Returns
 * a function that waits until all of them are read. It rejects with the error of `add` for an object, until that object has changed.
 */
export function followInTurns<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  derived: DerivedObjects<T>,
): () => Promise<void> {
  let reading = Promise.resolve();
  /** The keys that were written since the reading began: the reading finds their old objects. Undefined: no reading is under way. */
  let written: Set<string> | undefined;
  const read = async (): Promise<void> => {
    const own = new Set<string>();
    written = own;
    derived.clear();
    const work = new LongWork();
    try {
      for (const stored of registry.cache.snapshot(resourceRange(registry.definition))) {
        if (written !== own) return; // the cache has loaded again
        if (!own.has(stored.key)) derived.add(stored);
        const pause = work.pause();
        if (pause !== undefined) await pause;
      }
    } finally {
      if (written === own) written = undefined;
    }
  };
  followRegistry(registry, {
    onLoaded() {
      reading = read();
      reading.catch(() => {}); // callers that wait get the error
    },
    onEvent(event) {
      written?.add(event.key);
      if (event.previous !== undefined) derived.remove(event.previous);
      if (event.type === "put") derived.add(event.object);
    },
  });
  return async () => {
    let awaited;
    do await (awaited = reading);
    while (awaited !== reading); // the cache may have loaded again
  };
}
