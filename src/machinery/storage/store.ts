import type { MaybePromise } from "../api/maybe-promise.ts";
import type { KeyRange } from "./key-range.ts";

/**
 * The storage contract: keys, bytes and one growing revision, with etcd's semantics. Every write gets its own revision,
 * larger than the previous write's; where etcd's API has only etcd's revisions, the writes of one transaction share theirs.
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
   * Makes this process's watches look for what other processes wrote, up to the last `latestRevision`. Call it before
   * waiting for a watch: otherwise a watch may get others' writes only after this process's next write.
   */
  notify(): void;

  /**
   * Writes by compare-and-swap. Resolves once the write is durable and this process's up-to-date watches have received
   * it. Deleting a key that does not exist returns `isWritten: false`. Rejects with StoreUnavailable
   * (WriteOutcomeUnknown when the write may have happened), ValueTooLarge or WriteAbandoned.
   */
  write(request: WriteRequest): Promise<WriteResult>;

  /**
   * Writes several keys by compare-and-swap in one transaction: all of them, in their order, or none when one has another
   * revision. No failure can leave some of them written. The keys must differ. Resolves and rejects as `write` does, or
   * rejects with TransactionsUnsupported.
   */
  writeTogether(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]>;

  /**
   * Reads keys in `[start, end)` in byte order, at a revision (default: the latest). Rejects with RevisionCompacted or
   * RevisionInFuture.
   */
  range(request: RangeRequest): Promise<RangeResult>;

  /**
   * Reads as `range` does, and leaves out the values that begin with a byte and that `valueAt` can read later. It looks
   * only at keys, so it is much faster; where a value is not known to begin so, the whole entry is read. Absent: the
   * backend can only read values.
   */
  readonly rangeOfHeads?: ((request: HeadsRequest) => Promise<HeadsResult>) | undefined;

  /**
   * Reads writes from the history, oldest first, with what each of them replaced. Leaves out values as `rangeOfHeads` does.
   * Rejects with RevisionCompacted. Absent: the backend does not know what a write replaced.
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
   * Removes the history before a revision: reads and watches from before it fail from now on. Does nothing when that
   * history is already removed. Rejects with RevisionInFuture.
   */
  compact(revision: number): Promise<void>;

  /**
   * Whether the store would write a key's value in another form now: encrypted, or with another key. It looks again, because
   * an entry says what was so when it was read. False without a promise where no value is encrypted. Absent: it never would.
   */
  isStale?(key: string): MaybePromise<boolean>;

  /** The newest revision that compaction has removed; 0 when there is none. Watches may start after it. */
  compactedRevision(): number | Promise<number>;

  /**
   * Reads the value that a key got at a revision. Undefined for a delete, for an old value that compaction has removed, and for one that is
   * damaged, also where the revision is that of another key's write. Use the bytes before the next call, which overwrites them. Absent: the
   * backend cannot read without waiting.
   */
  readonly valueAt?: ((write: WriteOfKey) => Buffer | undefined) | undefined;

  /** How large the backend's files are, where it is not a file of this machine. For metrics. */
  sizeBytes?(): Promise<number | undefined>;

  /** How long the write that is under way has taken by now. 0: none is. Absent: the backend ends slow writes itself. */
  writingMilliseconds?(): number;

  close(): Promise<void>;
}

export interface WriteRequest {
  readonly key: string;
  /** The new value. Undefined deletes the key. */
  readonly value: Buffer | undefined;
  /** The modRevision that the key must have now, as the store has told it of this key. 0: the key must not exist. */
  readonly expectedRevision: number;
  /** When this is aborted, a write that has not started is not executed. */
  readonly signal?: AbortSignal;
}

/**
 * Whether a write happens where its key has a modRevision (0: the key does not exist): it is the expected one, and a delete has
 * something to delete.
 */
export const isExpected = (
  { value, expectedRevision }: Pick<WriteRequest, "value" | "expectedRevision">,
  modRevision: number,
): boolean => modRevision === expectedRevision && !(value === undefined && modRevision === 0);

export type WriteResult =
  | { readonly isWritten: true; readonly revision: number }
  /**
   * The key has another revision, or another key of the transaction has. `current` is its entry now, or undefined when it
   * does not exist.
   */
  | { readonly isWritten: false; readonly current: Entry | undefined };

/** One of the writes that a key has had. */
export interface WriteOfKey {
  readonly key: string;
  readonly revision: number;
}

/** A value where it is stored. */
export interface StoredValue {
  readonly key: string;
  /** Immutable. */
  readonly value: Buffer;
  /** Why the value can't be decrypted, or what is damaged; it is empty then. */
  readonly unreadable?: string | undefined;
  /** Whether an unreadable value can be read again when its KMS works. */
  readonly isKmsUnavailable?: boolean | undefined;
  /** The store would now write the value in another form: encrypted, or with another key. Absent: it would not. */
  readonly isStale?: boolean | undefined;
  /** `valueAt` returns another value: this one was decrypted. */
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
  /** No entry follows the one with which the values have this size. Absent: it does not matter. */
  readonly maximumBytes?: number;
  /** Damaged entries are shown as unreadable. Absent: one fails the range with StoreDamaged, so nobody takes it for a value. */
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
  /** The prefix of the keys. Writes of other keys are looked at, and left out. */
  readonly prefix: string;
  /** Exclusive. */
  readonly afterRevision: number;
  /** Inclusive. */
  readonly untilRevision: number;
  /** How many writes to look at, at most. */
  readonly limit: number;
  /** No write follows the one with which the values have this size. */
  readonly maximumBytes: number;
  /** The first byte of the values that are left out. Absent: none is. */
  readonly firstByte?: number | undefined;
}

export interface LogResult {
  readonly writes: LoggedWrite[];
  /** All writes up to this revision were looked at. */
  readonly revision: number;
}

/** A write, and what it replaced. */
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
   * Every change up to the revision has been delivered. Called when the revision grows without a change to the store's
   * own keys: other programs may use the same backend.
   */
  readonly onProgress?: (revision: number) => void;
  readonly onEnd: (error: Error) => void;
}

/** Compaction has removed this revision, or changes up to it are not known; the cause then tells why. */
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

/** The store's file lacks what it must have. No attempt later helps, only a backup. */
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

/** The server of etcd's API takes only one key in a transaction, as kine does. Nothing was written. */
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
