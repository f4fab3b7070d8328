import { setImmediate as nextTurn } from "node:timers/promises";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { isTurnOver } from "../../scheduling/request-turn.ts";
import { RevisionCompacted, RevisionInFuture, StoreDamaged, storeClosed } from "../store.ts";
import type {
  Change,
  Entry,
  Head,
  HeadsRequest,
  HeadsResult,
  LoggedWrite,
  LogRequest,
  LogResult,
  RangeRequest,
  RangeResult,
  Store,
  WatchRequest,
  WriteOfKey,
  WriteRequest,
  WriteResult,
} from "../store.ts";
import { LogWatches } from "../log-watches.ts";
import type { ChangeBounds } from "../log-watches.ts";
import { changedWrite, failureOfRead, recordAt } from "./lmdb-damage.ts";
import { sweepHistory } from "./sweep-history.ts";
import { closeEnvironment, counterOf, openEnvironment } from "./lmdb-environment.ts";
import type { LmdbEnvironment, LmdbEnvironmentOptions } from "./lmdb-environment.ts";
import {
  copied,
  decodeLogRecord,
  decodeLogValue,
  decodePreviousRevision,
  encodeRevision,
  isIntact,
  isOfKey,
} from "./lmdb-records.ts";
import { WriteQueue } from "./lmdb-write-queue.ts";
import { answerAt } from "../answer-at.ts";
import { checkKeys } from "../check-key.ts";

/** The revision of a new store, which belongs to no write. Each later revision belongs to one write. */
const newStoreRevision = 1;

interface FoundHead {
  readonly key: string;
  /** The revision of the newest write that may be old enough for the read. 0: no write is. */
  readonly from: number;
  /** The first byte of the value that this write stored. Undefined: it is not known. */
  readonly firstByte: number | undefined;
  /** The length of that value. Known where `firstByte` is. */
  readonly valueBytes: number | undefined;
  /** The revision of the read. */
  readonly revision: number;
}

export interface LmdbStoreOptions extends LmdbEnvironmentOptions {
  /** Called after each transaction of this process. The callback can tell other processes to call `catchUp()`. */
  readonly onWritten?: () => void;
}

/**
 * The embedded store: one LMDB file in its own directory, for one or more processes. See
 * docs/decisions/0002-storage.md.
 */
export class LmdbStore implements Store {
  readonly #environment: LmdbEnvironment;
  readonly #watches: LogWatches;
  readonly #writes: WriteQueue;
  /** Whether changes that this process wrote are being delivered to its watches. */
  #isDelivering = false;
  #sweeping: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** Throws when the directory belongs to another naming profile, has another format or cannot be opened. */
  constructor(options: LmdbStoreOptions) {
    this.#environment = openEnvironment(options);
    this.#watches = new LogWatches({
      latestRevision: () => this.#counter("revision"),
      compactedRevision: () => this.#counter("compacted"),
      changesAfter: (revision, bounds) => this.#changesAfter(revision, bounds),
    });
    this.#writes = new WriteQueue({
      environment: this.#environment,
      entryOf: (key, from) => this.#entryAt({ key, from }) ?? throwLost(key),
      onCommitted: async (transactions) => {
        if (transactions.length > 0) options.onWritten?.();
        await this.#deliver(transactions);
      },
      onNotWritten: () => this.#watches.catchUp(),
    });
  }

  latestRevision(): number {
    this.#refresh();
    return this.#counter("revision");
  }

  writingMilliseconds(): number {
    return this.#writes.writingMilliseconds();
  }

  catchUp(): void {
    // A catch-up would deliver the remaining changes all at once.
    if (this.#isDelivering) return;
    const latest = this.latestRevision();
    // The writes that this process has just committed are delivered without a read of the log.
    if (latest !== this.#writes.committingRevision && this.#watches.isBehind(latest)) this.#watches.catchUp();
  }

  compactedRevision(): number {
    this.#refresh();
    return this.#counter("compacted");
  }

  async write(request: WriteRequest): Promise<WriteResult> {
    return answerAt(await this.writeTogether([request]), 0);
  }

  async writeTogether(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    checkKeys(requests);
    if (this.#isClosed) throw storeClosed();
    return await this.#writes.add(requests);
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    return this.#orFailure(() => this.#range<never>(request, (found) => this.#entryAt(found)));
  }

  async rangeOfHeads({ firstByte: leftOut, ...request }: HeadsRequest): Promise<HeadsResult> {
    return this.#orFailure(() =>
      this.#range<Head>(request, (found) => {
        const { key, from, firstByte, valueBytes = 0 } = found;
        return firstByte === leftOut ? { key, modRevision: from, valueBytes } : this.#entryAt(found);
      }),
    );
  }

  #range<H extends Head>(
    { start, end, revision: wanted, limit = 0, maximumBytes = Infinity, showsDamaged = false }: RangeRequest,
    read: (found: FoundHead) => Entry | H | undefined,
  ): Omit<RangeResult, "entries"> & { readonly entries: (Entry | H)[] } {
    this.#refresh();
    const latest = this.#counter("revision");
    const compacted = this.#counter("compacted");
    const revision = wanted ?? latest;
    if (revision < compacted) throw new RevisionCompacted(compacted);
    if (revision > latest) throw new RevisionInFuture(latest);
    const entries: (Entry | H)[] = [];
    let bytes = 0;
    const heads = this.#environment.scannedHeads.getRange({ start, end, versions: true, snapshot: true });
    for (const { key, value: head, version = 0 } of heads) {
      if (version <= revision && head.isDeleted) continue;
      const { firstByte, previousRevision = version, valueBytes } = head;
      const found: FoundHead =
        version <= revision
          ? { key, from: version, firstByte, valueBytes, revision }
          : { key, from: previousRevision, firstByte: undefined, valueBytes: undefined, revision };
      let entry: Entry | H | undefined;
      try {
        if (head.revision !== undefined && head.revision !== version) throwLost(key);
        // Compaction keeps the newest write of a key.
        entry = read(found) ?? (version <= revision ? throwLost(key) : undefined);
      } catch (error) {
        if (!showsDamaged || !(error instanceof StoreDamaged)) throw error;
        entry = damagedEntry(found, error);
      }
      if (entry === undefined) continue;
      const isFull = (limit > 0 && entries.length === limit) || bytes >= maximumBytes;
      if (isFull) return { entries, revision, hasMore: true };
      entries.push(entry);
      bytes += entry.value?.length ?? 0;
    }
    return { entries, revision, hasMore: false };
  }

  valueAt({ key, revision }: WriteOfKey): Buffer | undefined {
    if (this.#isClosed) throw storeClosed();
    const { log } = this.#environment;
    const logKey = encodeRevision(revision);
    return this.#orFailure(() => {
      let encoded = log.getBinaryFast(logKey);
      if (encoded === undefined) {
        // The write may be newer than this turn's snapshot.
        this.#refresh();
        encoded = log.getBinaryFast(logKey);
      }
      if (encoded === undefined || !isIntact(encoded)) return undefined;
      return isOfKey(encoded, key) ? decodeLogValue(encoded) : undefined;
    });
  }

  async readLog(request: LogRequest): Promise<LogResult> {
    return this.#orFailure(() => this.#readLog(request));
  }

  #readLog({ prefix, afterRevision, untilRevision, limit, maximumBytes, firstByte: leftOut }: LogRequest): LogResult {
    this.#refresh();
    const compacted = this.#counter("compacted");
    if (afterRevision < compacted) throw new RevisionCompacted(compacted);
    const writes: LoggedWrite[] = [];
    const first = Math.max(afterRevision, newStoreRevision);
    let expected = first;
    let bytes = 0;
    const heads = this.#environment.scannedLogHeads.getRange({
      start: afterRevision + 1,
      end: untilRevision + 1,
      snapshot: true,
    });
    for (const { key: revision, value: head } of heads) {
      expected += 1;
      if (revision !== expected) throw this.#goneWrite(expected);
      // The key of a damaged record may be wrong too.
      if (!head.isIntact) throw changedWrite(`revision ${revision}`);
      const { key, isDelete, createRevision, previousRevision } = head;
      if (key.startsWith(prefix)) {
        const version = isDelete ? undefined : this.#writtenAt(revision, { key, leftOut });
        const isNew = !isDelete && createRevision === revision;
        const previous = isNew ? undefined : this.#writtenAt(previousRevision, { key, leftOut });
        writes.push({ revision, key, version, previous });
        bytes += (version?.value?.length ?? 0) + (previous?.value?.length ?? 0);
      }
      if (expected - first >= limit || bytes >= maximumBytes) return { writes, revision };
    }
    if (expected < untilRevision) throw this.#goneWrite(expected + 1);
    return { writes, revision: untilRevision };
  }

  /** Returns what a write stored for a key. Throws when compaction has removed the write. */
  #writtenAt(
    revision: number,
    { key, leftOut }: { readonly key: string; readonly leftOut: number | undefined },
  ): Entry | Head {
    const shared = recordAt(this.#environment.log, { revision, key });
    const value = shared && decodeLogValue(shared);
    if (value !== undefined && leftOut !== undefined && value[0] === leftOut) {
      return { key, modRevision: revision, valueBytes: value.length };
    }
    const entry = value && this.#entryAt({ key, from: revision });
    if (entry === undefined) throw new RevisionCompacted(this.#counter("compacted"));
    return entry;
  }

  watch(request: WatchRequest): { stop(): void } {
    return this.#watches.add(request);
  }

  async compact(revision: number): Promise<void> {
    this.#refresh();
    const latest = this.#counter("revision");
    if (revision > latest) throw new RevisionInFuture(latest);
    if (this.#isClosed) throw storeClosed();
    // Sweeps run one after the other. Each also finishes an interrupted earlier one.
    const sweep = this.#sweeping.then(() =>
      sweepHistory({
        environment: this.#environment,
        revision,
        onMarked: () => this.#watches.catchUp(),
        isStopped: () => this.#isClosed,
      }),
    );
    this.#sweeping = sweep.catch(() => {});
    await sweep;
  }

  /**
   * Delivers changes to the watches, in turns of the event loop because each change may concern thousands of watches. The changes of one
   * transaction are delivered together.
   */
  async #deliver(transactions: readonly (readonly Change[])[]): Promise<void> {
    const startedAt = performance.now();
    let turnStartedAt = startedAt;
    this.#isDelivering = true;
    try {
      for (const changes of transactions) {
        if (isTurnOver(turnStartedAt)) {
          await nextTurn();
          turnStartedAt = performance.now();
        }
        this.#watches.deliver(changes);
      }
    } finally {
      this.#isDelivering = false;
    }
    // Other processes may have written in between.
    if (turnStartedAt > startedAt && !this.#isClosed) this.catchUp();
  }

  /** Waits for running writes. Later writes are refused. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writes.drained();
    await this.#sweeping;
    this.#watches.end(storeClosed());
    await closeEnvironment(this.#environment);
  }

  /**
   * lmdb keeps one read snapshot per event loop turn. Drop it before a read that must see the newest writes of other
   * processes.
   */
  #refresh(): void {
    if (this.#isClosed) throw storeClosed();
    this.#environment.root.resetReadTxn();
  }

  /** As `orFailure`. After an error, LMDB's snapshot refuses all reads, so this drops the snapshot. */
  #orFailure<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      const failure = failureOfRead(cause);
      if (failure !== cause) this.#refresh();
      throw failure;
    }
  }

  #counter(name: "revision" | "compacted"): number {
    return counterOf(this.#environment, name);
  }

  /**
   * Returns the entry of a key at a revision (default: the given write's): the given write, or its newest predecessor that is old enough.
   * Undefined when the key did not exist then. Throws StoreDamaged when a record is damaged, missing, or a write of another key.
   */
  #entryAt({ key, from, revision = from }: Pick<FoundHead, "key" | "from"> & Partial<FoundHead>): Entry | undefined {
    const { log } = this.#environment;
    for (let modRevision = from; modRevision > 0;) {
      const shared = recordAt(log, { revision: modRevision, key });
      if (shared === undefined) {
        if (modRevision > this.#counter("compacted")) throwLost(key);
        return undefined; // compaction has removed a delete
      }
      if (!isOfKey(shared, key)) throwLost(key);
      if (modRevision <= revision) {
        const { value, createRevision } = decodeLogRecord(copied(shared));
        return value && { key, value, createRevision, modRevision };
      }
      modRevision = decodePreviousRevision(shared);
    }
    return undefined;
  }

  #changesAfter(afterRevision: number, bounds: ChangeBounds): Change[] {
    return this.#orFailure(() => this.#readChanges(afterRevision, bounds));
  }

  #readChanges(afterRevision: number, bounds: ChangeBounds): Change[] {
    const changes: Change[] = [];
    const range = { start: afterRevision + 1, limit: bounds.count, snapshot: true };
    let expected = Math.max(afterRevision, newStoreRevision);
    let bytes = 0;
    for (const { key: revision, value: encoded } of this.#environment.scannedLog.getRange(range)) {
      expected += 1;
      if (revision !== expected) throw this.#goneWrite(expected);
      if (!isIntact(encoded)) throw changedWrite(`revision ${revision}`);
      const { key, value, createRevision } = decodeLogRecord(encoded);
      // Earlier versions stored a createRevision for deletes too.
      changes.push({ revision, key, value, createRevision: value === undefined ? 0 : createRevision });
      bytes += value?.length ?? 0;
      if (bytes >= bounds.bytes) break;
    }
    return changes;
  }

  /** The error for a write that the log does not have: another process has just compacted it, or it is lost. */
  #goneWrite(revision: number): Error {
    const compacted = this.compactedRevision();
    return revision <= compacted
      ? new RevisionCompacted(compacted)
      : new StoreDamaged(`the write of revision ${revision} is missing`);
  }
}

/** Throws StoreDamaged: the log does not have the write that the head of a key names. */
function throwLost(key: string): never {
  throw new StoreDamaged(`a write of ${key} is missing`);
}

const damagedEntry = ({ key, from }: FoundHead, { found }: StoreDamaged): Entry => ({
  key,
  value: noBytes,
  createRevision: from,
  modRevision: from,
  unreadable: found,
});
