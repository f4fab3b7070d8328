/**
 * The storage contract: keys, bytes and one growing revision, with etcd's semantics. Every write gets a revision of its
 * own, one larger than the write before it. A store may be used by several processes at once.
 */
export interface Store {
  /**
   * The newest revision that is written durably, by whatever process: at least that of every acknowledged write. So
   * whoever has followed a watch up to it has seen all of those. 1 when nothing was ever written. Synchronous where the
   * backend can (memory, LMDB): it is on the path of every read. It also wakes watches that have not come as far.
   */
  latestRevision(): number | Promise<number>;

  /**
   * Writes by compare-and-swap. Resolves once the write is durable and has been given to those of this process's watches
   * that are up to date. Deleting a key that does not exist is answered as not written. Rejects with StoreUnavailable
   * (WriteOutcomeUnknown when that may have written), ValueTooLarge or WriteAbandoned.
   */
  write(request: WriteRequest): Promise<WriteResult>;

  /**
   * Reads keys in `[start, end)` in byte order, at a revision (default: the latest). Rejects with RevisionCompacted or
   * RevisionInFuture.
   */
  range(request: RangeRequest): Promise<RangeResult>;

  /**
   * Follows all changes after `afterRevision`, of every process, in revision order without gaps; each call of
   * `onChanges` gets at least one change. Calls begin after this returns. `onEnd` is called once when the watch can't
   * go on: RevisionCompacted when `afterRevision` is older than what is kept, else the backend's failure.
   */
  watch(request: WatchRequest): { stop(): void };

  /**
   * Forgets what is older than a revision: reads and watches from before it fail from now on. Does nothing when that is
   * forgotten already; rejects with RevisionInFuture.
   */
  compact(revision: number): Promise<void>;

  /** The newest revision that compaction has forgotten; 0 when none: watches may start after it. */
  compactedRevision(): number | Promise<number>;

  /** Writes a consistent copy to a file (0600) that does not exist yet. */
  snapshot(file: string): Promise<void>;

  close(): Promise<void>;
}

export interface WriteRequest {
  readonly key: string;
  /** The new value; undefined deletes. */
  readonly value: Buffer | undefined;
  /** The modRevision that the key must have now; 0: it must not exist. */
  readonly expectedRevision: number;
  /** A write that has not begun when this is aborted is not done. */
  readonly signal?: AbortSignal;
}

export type WriteResult =
  | { readonly isWritten: true; readonly revision: number }
  /** The key has another revision: here is what it holds now, or undefined when it does not exist. */
  | { readonly isWritten: false; readonly current: Entry | undefined };

export interface Entry {
  readonly key: string;
  /** Never changed by anyone. */
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface RangeRequest {
  readonly start: string;
  /** Exclusive. */
  readonly end: string;
  readonly revision?: number;
  /** At most so many entries; 0 or absent: all. */
  readonly limit?: number;
}

export interface RangeResult {
  readonly entries: Entry[];
  /** The revision that the answer shows. */
  readonly revision: number;
  readonly hasMore: boolean;
}

/** One write as the revision log holds it. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** The new value; undefined when the key was deleted. */
  readonly value: Buffer | undefined;
  /** The revision that created the key; for a delete, of the key that is gone. */
  readonly createRevision: number;
}

export interface WatchRequest {
  readonly afterRevision: number;
  readonly onChanges: (changes: readonly Change[]) => void;
  /**
   * Every change up to the revision has been given. Called where revisions pass without one of the store's own changes:
   * the backend's engine may serve others too.
   */
  readonly onProgress?: (revision: number) => void;
  readonly onEnd: (error: Error) => void;
}

/** A revision that compaction has forgotten. */
export class RevisionCompacted extends Error {
  readonly compactedRevision: number;
  constructor(compactedRevision: number) {
    super(`revisions up to ${compactedRevision} have been compacted`);
    this.name = "RevisionCompacted";
    this.compactedRevision = compactedRevision;
  }
}

/** A revision that no write has reached yet. */
export class RevisionInFuture extends Error {
  readonly latestRevision: number;
  constructor(latestRevision: number) {
    super(`the latest revision is ${latestRevision}`);
    this.name = "RevisionInFuture";
    this.latestRevision = latestRevision;
  }
}

/** The store can't take writes now (disk full, no quorum): nothing was written, or it is not known. */
export class StoreUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreUnavailable";
  }
}

/** A write that was sent and not answered: it may have been done, may still be, or never. */
export class WriteOutcomeUnknown extends StoreUnavailable {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "WriteOutcomeUnknown";
  }
}

/** A value that the store takes at no time; nothing was written. */
export class ValueTooLarge extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ValueTooLarge";
  }
}

/** A write that had not begun when its signal was aborted; nothing was written. */
export class WriteAbandoned extends Error {
  constructor() {
    super("nobody waits for the write any longer: nothing was written");
    this.name = "WriteAbandoned";
  }
}

/** The end of the range of all keys that begin with a prefix, as etcd's clients make it. */
export function prefixEnd(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
