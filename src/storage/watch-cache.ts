import type { ChangeFeed } from "./change-feed.ts";
import type { Entry } from "./store.ts";

export interface WatchCacheOptions<T> {
  /** Shared by all caches of the process. */
  readonly feed: ChangeFeed;
  /** Begins and ends with "/", as `/registry/serviceaccounts/`. No cache's prefix lies within another's. */
  readonly prefix: string;
  /** Called once for each version of a key, in the path of every write: T may well decode itself on first use. */
  decode(entry: Entry): T;
  /** How many events are kept for watches that start in the past. */
  readonly historyLength: number;
}

export type CacheEvent<T> =
  | {
      readonly type: "put";
      readonly key: string;
      readonly revision: number;
      readonly object: T;
      /** undefined: the key is new. */
      readonly previous: T | undefined;
    }
  | { readonly type: "delete"; readonly key: string; readonly revision: number; readonly previous: T };

/** Keys in `[start, end)`, in the order of their UTF-8 bytes. */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
}

export interface CacheWatchRequest<T> extends KeyRange {
  readonly afterRevision: number;
  readonly onEvent: (event: CacheEvent<T>) => void;
  /** After events (also of other prefixes) were applied: everything up to this revision has been delivered. */
  readonly onProgress?: (revision: number) => void;
  /** Called once, when events were missed or the cache closed; never after stop(). */
  readonly onEnd: (error: Error) => void;
}

/** The objects under one prefix of the store in memory, with their recent history; follows the store's revision log. */
export class WatchCache<T> {
  constructor(_options: WatchCacheOptions<T>) {
    throw new Error("being written");
  }
  /** Loads the state and the history that is still kept. Start all caches of a feed in one go (Promise.all): they share the reading. */
  declare start: () => Promise<void>;
  /** Everything up to here is applied: progress of the whole store, not only of this prefix. */
  declare readonly revision: number;
  /** Watches may start after it. */
  declare readonly oldestRevision: number;
  declare get: (key: string) => T | undefined;
  declare range: (request: KeyRange & { readonly limit?: number }) => T[];
  declare count: (request: KeyRange) => number;
  /** undefined when `revision` is applied already, else resolves once it is; rejects with the signal's reason. */
  declare waitFor: (revision: number, signal?: AbortSignal) => Promise<void> | undefined;
  /**
   * Gives the kept events after `afterRevision` before it returns, then live ones, in order. Throws RevisionCompacted.
   */
  declare watch: (request: CacheWatchRequest<T>) => { stop(): void };
}
