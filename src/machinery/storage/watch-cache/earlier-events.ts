import type { CacheEvent } from "./cache-event.ts";
import type { EarlierLog } from "../feed-follower.ts";
import type { Cached } from "./sorted-objects.ts";
import type { Entry, Head } from "../store.ts";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Small enough to let requests run in between. */
const atOnce = { limit: 250, maximumBytes: 4 * 2 ** 20 };

export interface EarlierEventsOptions<T extends Cached> {
  readonly log: EarlierLog;
  /** The prefix of the keys. */
  readonly prefix: string;
  /** See `firstByte` of LogRequest. */
  readonly firstByte: number | undefined;
  /** Makes the object of a version. Its text stays readable as long as the object is referenced. Throws when the text is lost already. */
  versionOf(stored: Entry | Head): T;
}

/**
 * Reads the events of a log from before the load of a cache, oldest first, a part in each turn of the event loop. Throws
 * RevisionCompacted, and the errors of the store.
 */
export async function* earlierEvents<T extends Cached>({
  log,
  prefix,
  firstByte,
  versionOf,
}: EarlierEventsOptions<T>): AsyncGenerator<CacheEvent<T>[]> {
  /** The newest version of each key that the log has shown so far. */
  const shown = new Map<string, T>();
  const { untilRevision } = log;
  for (let afterRevision = log.afterRevision; afterRevision < untilRevision;) {
    const part = await log.read({ prefix, afterRevision, untilRevision, firstByte, ...atOnce });
    const events: CacheEvent<T>[] = [];
    for (const { key, revision, version, previous: replaced } of part.writes) {
      const previous = replaced && (shown.get(key) ?? versionOf(replaced));
      if (version !== undefined) {
        const object = versionOf(version);
        shown.set(key, object);
        events.push({ type: "put", key, revision, object, previous });
      } else if (previous !== undefined) {
        shown.delete(key);
        events.push({ type: "delete", key, revision, previous });
      }
    }
    yield events;
    afterRevision = part.revision;
    await nextTurn();
  }
}
