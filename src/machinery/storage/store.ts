import type { MaybePromise } from "../api/maybe-promise.ts";
import type { KeyRange } from "./key-range.ts";

/**
 * The storage contract: keys, bytes and one growing revision, with etcd's semantics. Every write gets its own revision,
 * larger than the previous write's; only with etcd's own revisions (`plainRevisions`), the writes of one transaction share one.
 * Several processes may use a store at once.
 */
export interface Store {
  /** How much the revision grows with a write, roughly. Absent: by one. */
  readonly revisionsPerWrite?: number | undefined;

  /**
   * The newest durable revision of any process. It is at least the revision of every acknowledged write, so a watch
   * that has reached it has seen all of them. 1 when nothing was ever written. Synchronous where the backend allows it
   * (memory, LMDB), because every read calls it.
   */
  latestRevision(): number | Promise<number>;

  /**
   * Makes this process's watches look for writes of other processes, up to the last result of `latestRevision`. Call it before
   * waiting for a watch: otherwise the watch may get these writes only after this process's next write.
   */
  catchUp(): void;

  /**
   * Writes by compare-and-swap. Resolves once the write is durable and this process's up-to-date watches have received
   * it. Deleting a key that does not exist returns `isWritten: false`. Rejects with StoreUnavailable
   * (WriteOutcomeUnknown when the write may have happened), ValueTooLarge or WriteAbandoned.
   */
  write(request: WriteRequest): Promise<WriteResult>;

  /**
   * Writes several keys by compare-and-swap in one transaction: all of them, in their order, or none when a key does not have its
   * expected revision. No failure can leave some of them written. The keys must differ. Resolves and rejects as `write` does,
   * or rejects with TransactionsUnsupported.
   */
  writeTogether(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]>;

  /**
   * Reads keys in `[start, end)` in byte order, at a revision (default: the latest). Rejects with RevisionCompacted or
   * RevisionInFuture.
   */
  range(request: RangeRequest): Promise<RangeResult>;

  /**
   * Reads as `range` does, but leaves out the values that begin with `firstByte`, which `valueAt` can read later. It is much faster,
   * because it reads only keys. When the first byte of a value is not known, the whole entry is read. Absent: the backend can only
   * read values.
   */
  readonly rangeOfHeads?: ((request: HeadsRequest) => Promise<HeadsResult>) | undefined;

  /**
   * Reads writes from the history, oldest first, each with the entry that it replaced. Leaves out values as `rangeOfHeads` does.
   * Rejects with RevisionCompacted. Absent: the backend does not know what a write has replaced.
   */
  readonly readLog?: ((request: LogRequest) => Promise<LogResult>) | undefined;

  /**
   * Follows all changes after `afterRevision`, by every process, in revision order without gaps. Each call of
   * `onChanges` has at least one change. Calls start after this method returns. `onEnd` is called once when the watch
   * cannot continue: with RevisionCompacted when `afterRevision` is older than the kept history, otherwise with the
   * backend's failure.
   */
  watch(request: WatchRequest): { stop(): void };

  /**
   * Removes the history before a revision: reads and watches of earlier revisions fail from now on. Does nothing when that
   * history is already removed. Rejects with RevisionInFuture.
   */
  compact(revision: number): Promise<void>;

  /**
   * Whether the store would now write a key's value in another form: encrypted, or with another key. Reads the value again, because
   * an entry's `isStale` is from the time of its read. False without a promise when the key's values are not encrypted. Absent: the
   * store has only one form.
   */
  isStale?(key: string): MaybePromise<boolean>;

  /** The newest revision that compaction has removed; 0 when there is none. Watches may start after it. */
  compactedRevision(): number | Promise<number>;

  /**
   * Reads the value that a key got at a revision. Undefined for a delete, for an old value that compaction has removed, and for a damaged
   * value; also when the revision belongs to another key's write. Use the bytes before the next call, which overwrites them. Absent: the
   * backend cannot read synchronously.
   */
  readonly valueAt?: ((write: WriteOfKey) => Buffer | undefined) | undefined;

  /** The size of the backend's database, if that is not a file of this machine. For metrics. */
  sizeBytes?(): Promise<number | undefined>;

  /** How long the running write has taken by now. 0: no write is running. Absent: the backend itself ends slow writes. */
  writingMilliseconds?(): number;

  close(): Promise<void>;
}

export interface WriteRequest {
  readonly key: string;
  /** The new value. Undefined deletes the key. */
  readonly value: Buffer | undefined;
  /** The modRevision that the key must have now: one that the store has returned for this key. 0: the key must not exist. */
  readonly expectedRevision: number;
  /** When this is aborted, a write that has not started is not executed. */
  readonly signal?: AbortSignal;
}

/**
 * Whether a write succeeds when its key has this modRevision (0: the key does not exist). It must be the expected revision, and a delete
 * needs an existing key.
 */
export const isExpected = (
  { value, expectedRevision }: Pick<WriteRequest, "value" | "expectedRevision">,
  modRevision: number,
): boolean => modRevision === expectedRevision && !(value === undefined && modRevision === 0);

export type WriteResult =
  | { readonly isWritten: true; readonly revision: number }
  /**
   * This key or another key of the transaction does not have its expected revision. `current` is this key's entry now, or undefined when
   * it does not exist.
   */
  | { readonly isWritten: false; readonly current: Entry | undefined };

/** Names one write of a key by its revision. */
export interface WriteOfKey {
  readonly key: string;
  readonly revision: number;
}

/** A stored value with its key. */
export interface StoredValue {
  readonly key: string;
  /** Immutable. */
  readonly value: Buffer;
  /** Why the value can't be decrypted, or what is damaged; `value` is empty then. */
  readonly unreadable?: string | undefined;
  /** Whether an unreadable value can be read again when its KMS works. */
  readonly isKmsUnavailable?: boolean | undefined;
  /** Whether the store would now write the value in another form: encrypted, or with another key. Absent: false. */
  readonly isStale?: boolean | undefined;
  /** Whether the value was decrypted, so that `valueAt` returns other bytes. */
  readonly isDecrypted?: boolean | undefined;
}

export interface Entry extends StoredValue {
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface RangeRequest extends KeyRange {
  readonly revision?: number;
  /** The maximum number of entries. 0 or absent: all. */
  readonly limit?: number;
  /** The result ends with the entry at which the values together reach this size. Absent: no limit. */
  readonly maximumBytes?: number;
  /** Whether damaged entries are shown as unreadable. Absent: a damaged entry fails the whole range with StoreDamaged. */
  readonly showsDamaged?: boolean;
}

export interface RangeResult {
  readonly entries: Entry[];
  /** The revision of the returned state. */
  readonly revision: number;
  readonly hasMore: boolean;
}

/** An entry whose value was left out. */
export interface Head {
  readonly key: string;
  readonly modRevision: number;
  readonly value?: undefined;
  /** The length of the value. */
  readonly valueBytes: number;
}

export interface HeadsRequest extends RangeRequest {
  /** The first byte of the values that are left out. */
  readonly firstByte: number;
}

export interface HeadsResult extends Omit<RangeResult, "entries"> {
  readonly entries: (Entry | Head)[];
}

export interface LogRequest {
  /** The prefix of the keys. Writes of other keys are left out, but count for `limit`. */
  readonly prefix: string;
  /** Exclusive. */
  readonly afterRevision: number;
  /** Inclusive. */
  readonly untilRevision: number;
  /** The largest number of writes to examine. */
  readonly limit: number;
  /** The result ends with the write at which the values together reach this size. */
  readonly maximumBytes: number;
  /** The first byte of the values that are left out. Absent: no value is left out. */
  readonly firstByte?: number | undefined;
}

export interface LogResult {
  readonly writes: LoggedWrite[];
  /** All writes up to this revision were examined. */
  readonly revision: number;
}

/** A write, and the entry that it replaced. */
export interface LoggedWrite {
  readonly revision: number;
  readonly key: string;
  /** Undefined when the key was deleted. */
  readonly version: Entry | Head | undefined;
  /** Undefined when the key was created. */
  readonly previous: Entry | Head | undefined;
}

/** One write in the revision log. */
export interface Change extends Omit<StoredValue, "value"> {
  readonly revision: number;
  /** The new value. Undefined when the key was deleted. */
  readonly value: Buffer | undefined;
  /** The revision that created the key. 0 for a delete. */
  readonly createRevision: number;
}

export interface WatchRequest {
  readonly afterRevision: number;
  readonly onChanges: (changes: readonly Change[]) => void;
  /**
   * Called when the revision grows without a change to the store's own keys, because other programs may use the same backend.
   * Every change up to the revision has been delivered.
   */
  readonly onProgress?: (revision: number) => void;
  readonly onEnd: (error: Error) => void;
}

/** Compaction has removed this revision, or changes up to it are not known: then the cause says why. */
export class RevisionCompacted extends Error {
  override readonly name = "RevisionCompacted";
  readonly compactedRevision: number;
  constructor(compactedRevision: number, options?: ErrorOptions) {
    super(`revisions up to ${compactedRevision} have been compacted`, options);
    this.compactedRevision = compactedRevision;
  }
}

/** No write has reached this revision yet. */
export class RevisionInFuture extends Error {
  override readonly name = "RevisionInFuture";
  readonly latestRevision: number;
  constructor(latestRevision: number) {
    super(`the latest revision is ${latestRevision}`);
    this.latestRevision = latestRevision;
  }
}

/** The store cannot accept writes now (disk full, no quorum). Nothing was written, except for WriteOutcomeUnknown. */
export class StoreUnavailable extends Error {
  override readonly name: string = "StoreUnavailable";
}

export const storeClosed = (): StoreUnavailable => new StoreUnavailable("the store is closed");

/** The store's file is damaged. A retry does not help, only a backup does. */
export class StoreDamaged extends StoreUnavailable {
  override readonly name = "StoreDamaged";
  /** What is damaged. The message adds the advice. */
  readonly found: string;
  static readonly advice = "restore a backup (signet restore), or give up what signet encryption status shows";

  constructor(what: string, options?: ErrorOptions) {
    const found = `the store's file is damaged (${what})`;
    super(`${found}; ${StoreDamaged.advice}`, options);
    this.found = found;
  }
}

/** The server of etcd's API supports only one key in a transaction, as kine does. Nothing was written. */
export class TransactionsUnsupported extends Error {
  override readonly name = "TransactionsUnsupported";

  constructor(options?: ErrorOptions) {
    super("the store takes only one key in a transaction", options);
  }
}

/** A write was sent and not answered. It may have happened, may still happen, or may never happen. */
export class WriteOutcomeUnknown extends StoreUnavailable {
  override readonly name = "WriteOutcomeUnknown";
}

/** The store can never accept this value. Nothing was written. */
export class ValueTooLarge extends Error {
  override readonly name = "ValueTooLarge";
}

/** The signal of a write was aborted before the write started. Nothing was written. */
export class WriteAbandoned extends Error {
  override readonly name = "WriteAbandoned";

  constructor() {
    super("the client stopped waiting before the write started: nothing was written");
  }
}
