import {
  checkKey,
  checkKeys,
  RevisionCompacted,
  RevisionInFuture,
  StoreUnavailable,
  TransactionsUnsupported,
  ValueTooLarge,
  WriteAbandoned,
  WriteOutcomeUnknown,
} from "../store.ts";
import type { Entry, RangeRequest, RangeResult, Store, WatchRequest, WriteRequest, WriteResult } from "../store.ts";
import { EtcdClient, statusPath } from "../etcd/etcd-client.ts";
import type { EtcdCall } from "../etcd/etcd-client.ts";
import {
  decodeStatus,
  decodeRange,
  decodeSwap,
  decodeTransaction,
  encodeCompaction,
  encodePut,
  encodeRange,
  encodeSwap,
  encodeTransaction,
} from "../etcd/etcd-messages.ts";
import type { KeyValue, RangeAnswer, RangeMessage } from "../etcd/etcd-messages.ts";
import { EtcdWatch } from "../etcd/etcd-watch.ts";
import { formatPrefixState, parsePrefixState, UnusablePrefix, KeySpace } from "../etcd/key-space.ts";
import type { EtcdPrefixState } from "../etcd/key-space.ts";
import { PageLength } from "../etcd/page-length.ts";
import type { TlsFiles } from "../../grpc/connect-socket.ts";
import { GrpcError, grpcStatus } from "../../grpc/grpc-error.ts";
import { SharedRead } from "../etcd/shared-read.ts";
import {
  hasOrderedProgress,
  isCompacted,
  isInFuture,
  isTooLarge,
  isUnsupportedTransaction,
} from "../etcd/etcd-errors.ts";

export interface EtcdStoreOptions {
  /** `http://host:port` or `https://host:port` of each member. */
  readonly servers: readonly string[];
  /** Called for each connection, so that renewed files are used. */
  tls?(): TlsFiles;
  /** The prefix of every key in etcd: a path without a trailing slash. */
  readonly prefix: string;
  readonly profile: string;
  /** How long to retry one call. Default 5,000: longer than an election takes. */
  readonly callMilliseconds?: number;
}

const ABANDONED_AT_ONCE = 1_000;
const rangePath = "/etcdserverpb.KV/Range";
/** How long a write waits until this process's watches have delivered it. */
const DELIVERY_MILLISECONDS = 2_000;
/** How often a create is retried while others create and delete the same key. */
const MAX_CREATE_ATTEMPTS = 16;
const FIRST_PROGRESS_MILLISECONDS = 10;
const LAST_PROGRESS_MILLISECONDS = 500;

/**
 * The store for several replicas: an etcd cluster, or another server of etcd's API. See docs/decisions/0003-etcd.md.
 */
export class EtcdStore implements Store {
  readonly #client: EtcdClient;
  readonly #keys: KeySpace;
  readonly #watches = new Set<EtcdWatch>();
  readonly #latest: SharedRead<number>;
  readonly #pageLength = new PageLength();
  /** The newest compacted revision that this process knows. */
  #compactedRevision = 0;
  /** The newest revision that a caller waits for. */
  #wantedRevision = 0;
  /** The newest revision that `latestRevision` has returned. */
  #toldRevision = 0;
  #progressTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ tls = () => ({}), prefix, profile, ...options }: EtcdStoreOptions) {
    this.#client = new EtcdClient({ ...options, tls });
    this.#keys = new KeySpace({ prefix, profile });
    this.#latest = new SharedRead(() => this.#readLatest());
  }

  /**
   * Checks the prefix, and returns the number to add to etcd's revisions (see ShiftedStore). Rejects with UnusablePrefix
   * when it belongs to another naming profile or its objects are elsewhere, and with StoreUnavailable.
   */
  async open(): Promise<number> {
    await this.#refuseForeign();
    const state = (await this.#readState())?.state;
    const { root } = this.#keys;
    if (state?.type === "importing") {
      throw new UnusablePrefix(
        `a restore to etcd's ${root} goes on, or broke off: wait for it, or remove these keys and restore again: ` +
          `etcdctl del --prefix ${root}`,
      );
    }
    if (state?.type === "moved") {
      throw new UnusablePrefix(
        `the objects of etcd's ${root} were moved away: use the store that they are in now, or remove these keys to begin ` +
          `a new one: etcdctl del --prefix ${root}`,
      );
    }
    return state?.type === "imported" ? state.shift : 0;
  }

  /**
   * Takes an empty prefix for objects from elsewhere, whose newest revision is given: no server uses it until
   * `finishImport`. Returns the shift that makes all new revisions higher. Rejects with UnusablePrefix when it is not
   * empty.
   */
  async startImport(revision: number): Promise<number> {
    await this.#refuseForeign();
    const { entries } = await this.range({ start: "/", end: "0", limit: 1 });
    if (entries.length > 0 || (await this.#readState()) !== undefined) {
      throw new UnusablePrefix(
        `etcd's ${this.#keys.root} is not empty: use another --etcd-prefix, or remove these keys: ` +
          `etcdctl del --prefix ${this.#keys.root}`,
      );
    }
    return Math.max(0, revision - (await this.#writeState({ type: "importing" })));
  }

  async finishImport(shift: number): Promise<void> {
    await this.#writeState({ type: "imported", shift });
  }

  /** Removes all that an import has made. */
  async abandonImport(): Promise<void> {
    for (;;) {
      const { entries, hasMore } = await this.range({ start: "/", end: "0", limit: ABANDONED_AT_ONCE });
      await Promise.all(
        entries.map(({ key, modRevision }) => this.write({ key, value: undefined, expectedRevision: modRevision })),
      );
      if (!hasMore) break;
    }
    await this.#writeState(undefined);
  }

  /** No server uses the prefix any more. */
  async markMoved(): Promise<void> {
    await this.#writeState({ type: "moved" });
  }

  async latestRevision(): Promise<number> {
    const revision = await this.#latest.read();
    this.#toldRevision = Math.max(this.#toldRevision, revision);
    return revision;
  }

  notify(): void {
    this.#requestProgressSoon(this.#toldRevision);
  }

  async write({ key, value, expectedRevision, signal }: WriteRequest): Promise<WriteResult> {
    checkKey(key);
    const etcdKey = this.#keys.etcdKey(key);
    if (value === undefined && expectedRevision === 0) return { isWritten: false, current: await this.#read(key) };
    for (let attempt = 1; attempt <= MAX_CREATE_ATTEMPTS; attempt++) {
      if (signal?.aborted === true) throw new WriteAbandoned();
      const message = encodeSwap({ key: etcdKey, value, expectedRevision });
      const answer = decodeSwap(await this.#call({ path: "/etcdserverpb.KV/Txn", message, isRepeatable: false }));
      // kine reports success when it deletes a key that does not exist.
      const isDeleteOfNothing = value === undefined && answer.current === undefined && answer.deletedCount === 0;
      if (answer.isWritten && !isDeleteOfNothing) {
        await this.#untilGiven(answer.revision);
        return { isWritten: true, revision: answer.revision };
      }
      if (expectedRevision !== 0) return { isWritten: false, current: answer.current && this.#entry(answer.current) };
      const current = await this.#read(key);
      if (current !== undefined) return { isWritten: false, current };
      // The key existed a moment ago and is gone now: retry the create.
    }
    throw new StoreUnavailable("other clients create and delete this key all the time");
  }

  async writeTogether(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    checkKeys(requests);
    if (requests.some(({ signal }) => signal?.aborted === true)) throw new WriteAbandoned();
    const swaps = requests.map(({ key, value, expectedRevision }) => {
      if (value === undefined && expectedRevision === 0) throw new Error("a delete in a transaction needs a revision");
      return { key: this.#keys.etcdKey(key), value, expectedRevision };
    });
    const call = { path: "/etcdserverpb.KV/Txn", message: encodeTransaction(swaps), isRepeatable: false };
    const { isWritten, revision, current } = decodeTransaction(await this.#call(call));
    if (isWritten) {
      await this.#untilGiven(revision);
      return requests.map(() => ({ isWritten: true, revision }));
    }
    return requests.map((_, index) => {
      const found = current[index];
      return { isWritten: false, current: found && this.#entry(found) };
    });
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    const { revision } = request;
    if (revision !== undefined && revision < this.#compactedRevision) {
      throw new RevisionCompacted(this.#compactedRevision);
    }
    try {
      return await this.#pages(request);
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  watch(request: WatchRequest): { stop(): void } {
    const watch = new EtcdWatch({
      client: this.#client,
      range: this.#keys.watchedRange,
      storeKey: (key) => this.#keys.storeKey(key),
      request,
      onClosed: (closed) => void this.#watches.delete(closed),
    });
    this.#watches.add(watch);
    if (request.afterRevision < this.#compactedRevision) {
      const error = new RevisionCompacted(this.#compactedRevision);
      setImmediate(() => watch.end(error));
    }
    return watch;
  }

  async compact(revision: number): Promise<void> {
    if (revision <= this.#compactedRevision) return;
    const message = encodeCompaction(revision);
    try {
      await this.#call({ path: "/etcdserverpb.KV/Compact", message, isRepeatable: true });
    } catch (error) {
      // Another replica may have compacted first.
      if (!(error instanceof GrpcError && isCompacted(error))) throw await this.#explained(error);
    }
    this.#compactedRevision = Math.max(this.#compactedRevision, revision);
  }

  /** Of the member that this process talks to. */
  async sizeBytes(): Promise<number> {
    const status = await this.#client.call({ path: statusPath, message: Buffer.alloc(0), isRepeatable: true });
    return decodeStatus(status).databaseBytes;
  }

  /** etcd reports it only to a read of a compacted revision. So this searches for the oldest readable revision. */
  async compactedRevision(): Promise<number> {
    let forgotten = Math.max(1, this.#compactedRevision);
    if (await this.#isReadable(forgotten)) return this.#compactedRevision;
    let readable = await this.#latest.read();
    while (readable - forgotten > 1) {
      const middle = Math.floor((forgotten + readable) / 2);
      if (await this.#isReadable(middle)) readable = middle;
      else forgotten = middle;
    }
    this.#compactedRevision = Math.max(this.#compactedRevision, readable);
    return this.#compactedRevision;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#progressTimer);
    for (const watch of this.#watches) watch.end(closed());
    this.#client.close();
  }

  /** Reads a range in pages, all at the revision of the first page. */
  async #pages({
    start,
    end,
    revision: wanted,
    limit = 0,
    maximumBytes = Infinity,
  }: RangeRequest): Promise<RangeResult> {
    const { key: first, rangeEnd } = this.#keys.etcdRange(start, end);
    const entries: Entry[] = [];
    let bytes = 0;
    // For etcd, 0 means the latest. Revision 1 is that of an empty store.
    let revision = wanted === undefined ? 0 : Math.max(1, wanted);
    for (let key = first; ; key = `${this.#keys.etcdKey(entries.at(-1)?.key ?? start)}\0`) {
      const left = limit === 0 ? Infinity : limit - entries.length;
      const page = await this.#page({ key, rangeEnd, revision, limit: left });
      if (revision === 0) revision = page.revision;
      let isFull = false;
      for (const keyValue of page.keyValues) {
        if (isFull) return { entries, revision: wanted ?? revision, hasMore: true };
        entries.push(this.#entry(keyValue));
        bytes += keyValue.value.length;
        isFull = (limit > 0 && entries.length >= limit) || bytes >= maximumBytes;
      }
      if (!page.hasMore || isFull) return { entries, revision: wanted ?? revision, hasMore: page.hasMore };
    }
  }

  /** Reads as many entries as are small enough for one answer, and `limit` at most. */
  async #page(range: RangeMessage): Promise<RangeAnswer> {
    let limit = Math.min(range.limit, this.#pageLength.entries);
    const answer = await this.#call({
      path: rangePath,
      message: encodeRange({ ...range, limit }),
      isRepeatable: true,
      smaller: () => {
        const half = this.#pageLength.halve(limit);
        if (half === undefined) return undefined;
        limit = half;
        return encodeRange({ ...range, limit });
      },
    });
    const page = decodeRange(answer);
    this.#pageLength.fit({ entries: page.keyValues.length, bytes: answer.length });
    return page;
  }

  async #readLatest(): Promise<number> {
    const { revision } = await this.#range({ key: this.#keys.fenceKey, rangeEnd: "", revision: 0, limit: 1 });
    return revision;
  }

  async #read(key: string): Promise<Entry | undefined> {
    const { keyValues } = await this.#range({ key: this.#keys.etcdKey(key), rangeEnd: "", revision: 0, limit: 1 });
    return keyValues[0] && this.#entry(keyValues[0]);
  }

  async #refuseForeign(): Promise<void> {
    for (const range of this.#keys.foreignRanges()) {
      const { keyValues } = await this.#range({ ...range, revision: 0, limit: 1 });
      const [foreign] = keyValues;
      if (foreign !== undefined) throw this.#keys.belongsToAnother(foreign.key);
    }
  }

  async #readState(): Promise<{ readonly state: EtcdPrefixState; readonly modRevision: number } | undefined> {
    const { keyValues } = await this.#range({ key: this.#keys.stateKey, rangeEnd: "", revision: 0, limit: 1 });
    const [found] = keyValues;
    return found && { state: parsePrefixState(found.value), modRevision: found.modRevision };
  }

  /** Returns the revision of the write. */
  async #writeState(state: EtcdPrefixState | undefined): Promise<number> {
    const expectedRevision = (await this.#readState())?.modRevision ?? 0;
    const value = state && formatPrefixState(state);
    const message = encodeSwap({ key: this.#keys.stateKey, value, expectedRevision });
    const answer = decodeSwap(await this.#call({ path: "/etcdserverpb.KV/Txn", message, isRepeatable: false }));
    if (!answer.isWritten) throw new UnusablePrefix(`another process changes the state of etcd's ${this.#keys.root}`);
    return answer.revision;
  }

  async #isReadable(revision: number): Promise<boolean> {
    try {
      await this.#range({ key: this.#keys.fenceKey, rangeEnd: "", revision, limit: 1 });
      return true;
    } catch (error) {
      if (error instanceof GrpcError && isCompacted(error)) return false;
      throw error;
    }
  }

  async #range(message: RangeMessage): Promise<RangeAnswer> {
    return decodeRange(await this.#call({ path: rangePath, message: encodeRange(message), isRepeatable: true }));
  }

  /** Rejects with the errors of the Store contract. Errors about a revision stay GrpcErrors. */
  async #call(call: EtcdCall): Promise<Buffer> {
    try {
      return await this.#client.call(call);
    } catch (error) {
      if (!(error instanceof GrpcError) || isCompacted(error) || isInFuture(error)) throw error;
      if (isTooLarge(error)) throw new ValueTooLarge(error.message, { cause: error });
      if (isUnsupportedTransaction(error)) throw new TransactionsUnsupported({ cause: error });
      if (!call.isRepeatable && mayHaveBeenDone(error)) throw new WriteOutcomeUnknown(error.message, { cause: error });
      throw new StoreUnavailable(error.message, { cause: error });
    }
  }

  /** Converts etcd's error about a revision to the contract's error. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof GrpcError)) return error;
    if (isCompacted(error)) return new RevisionCompacted(await this.compactedRevision());
    if (isInFuture(error)) return new RevisionInFuture(await this.latestRevision());
    return error;
  }

  #entry({ key, value, createRevision, modRevision }: KeyValue): Entry {
    return { key: this.#keys.storeKey(key) ?? key, value, createRevision, modRevision };
  }

  /** Resolves once this process's watches have delivered a revision, or after a time limit. */
  async #untilGiven(revision: number): Promise<void> {
    const waiting: Promise<void>[] = [];
    for (const watch of this.#watches) {
      const reached = watch.reaches(revision);
      if (reached !== undefined) waiting.push(reached);
    }
    if (waiting.length === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, DELIVERY_MILLISECONDS);
    await Promise.race([Promise.all(waiting), promise]);
    clearTimeout(timer);
  }

  /** Makes watches reach a revision, even when its key is outside their range. */
  #requestProgressSoon(revision: number): void {
    this.#wantedRevision = Math.max(this.#wantedRevision, revision);
    if (this.#progressTimer === undefined && this.#isBehind()) this.#requestProgressIn(FIRST_PROGRESS_MILLISECONDS);
  }

  #requestProgressIn(milliseconds: number): void {
    const again = (): void => {
      this.#progressTimer = undefined;
      if (this.#isBehind() && !this.#isClosed)
        this.#requestProgressIn(Math.min(LAST_PROGRESS_MILLISECONDS, milliseconds * 2));
    };
    this.#progressTimer = setTimeout(() => {
      if (this.#isBehind()) this.#askForProgress().then(again, again);
      else again();
    }, milliseconds);
    this.#progressTimer.unref();
  }

  #isBehind(): boolean {
    for (const { position } of this.#watches) if (position < this.#wantedRevision) return true;
    return false;
  }

  /**
   * Where etcd's progress answer could come before the events, write the fence key instead: its event comes after them.
   */
  async #askForProgress(): Promise<void> {
    if (hasOrderedProgress(this.#client.serverVersion)) {
      for (const watch of this.#watches) watch.requestProgress();
      return;
    }
    const message = encodePut(this.#keys.fenceKey, Buffer.alloc(0));
    await this.#call({ path: "/etcdserverpb.KV/Put", message, isRepeatable: true });
  }
}

/** An internal failure of etcd, not a refusal. */
const mayHaveBeenDone = ({ code }: GrpcError): boolean => code === grpcStatus.unknown || code === grpcStatus.internal;

const closed = (): StoreUnavailable => new StoreUnavailable("the store is closed");
