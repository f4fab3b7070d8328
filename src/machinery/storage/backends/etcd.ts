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
import { EtcdClient, rangePath, statusPath, transactionPath } from "../etcd/etcd-client.ts";
import type { EtcdCall } from "../etcd/etcd-client.ts";
import {
  decodeStatus,
  decodeRange,
  decodeSwap,
  decodeSwaps,
  decodeTransaction,
  encodeCompaction,
  encodePut,
  encodeRange,
  encodeSwap,
  encodeSwaps,
  encodeTransaction,
} from "../etcd/etcd-messages.ts";
import type { KeyValue, RangeAnswer, RangeMessage, SwapMessage } from "../etcd/etcd-messages.ts";
import { EtcdWatch } from "../etcd/etcd-watch.ts";
import { EtcdPrefix } from "../etcd/etcd-prefix.ts";
import type { OpenedPrefix } from "../etcd/etcd-prefix.ts";
import { KeySpace } from "../etcd/key-space.ts";
import { RangeReader } from "../etcd/range-reader.ts";
import type { TlsFiles } from "../../grpc/connect-socket.ts";
import { GrpcError, grpcStatus } from "../../grpc/grpc-error.ts";
import { SharedRead } from "../etcd/shared-read.ts";
import { groupedRevisions, plainRevisions } from "../etcd/revision-form.ts";
import type { RevisionForm } from "../etcd/revision-form.ts";
import { WriteGroups } from "../etcd/write-groups.ts";
import type { GroupedWrite } from "../etcd/write-groups.ts";
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
type WriteAnswer =
  | { readonly isWritten: true; readonly revision: number }
  /** Without `current` where the server does not tell. */
  | { readonly isWritten: false; readonly current: KeyValue | undefined };

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
  readonly #prefix: EtcdPrefix;
  readonly #ranges: RangeReader;
  readonly #groups = new WriteGroups<WriteAnswer>({
    maximumWrites: groupedRevisions.step,
    send: (swaps) => this.#sendGroup(swaps),
  });
  readonly #watches = new Set<EtcdWatch>();
  readonly #latest: SharedRead<number>;
  #opened: OpenedPrefix = { form: plainRevisions, shift: 0 };
  /** The newest compacted revision that this process knows: etcd's. */
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
    const parts = { keys: this.#keys, call: (call: EtcdCall) => this.#call(call) };
    this.#prefix = new EtcdPrefix(parts);
    this.#ranges = new RangeReader(parts);
    this.#latest = new SharedRead(() => this.#readLatest());
  }

  /** Returns the number to add to the revisions (see ShiftedStore). Rejects as EtcdPrefix does. */
  async open(options: { readonly isOnlyRead: boolean } = { isOnlyRead: false }): Promise<number> {
    this.#opened = await this.#prefix.open(options);
    return this.#opened.shift;
  }

  /** As `open`, for an empty prefix (see EtcdPrefix). */
  async startImport(revision: number): Promise<number> {
    this.#opened = await this.#prefix.startImport(revision);
    return this.#opened.shift;
  }

  async finishImport(): Promise<void> {
    await this.#prefix.finishImport(this.#opened);
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
    await this.#prefix.write(undefined);
  }

  /** No server uses the prefix any more. */
  async markMoved(): Promise<void> {
    await this.#prefix.write({ type: "moved" });
  }

  get revisionStep(): number {
    return this.#form.step;
  }

  async latestRevision(): Promise<number> {
    const revision = this.#form.storeRevision(await this.#latest.read());
    this.#toldRevision = Math.max(this.#toldRevision, revision);
    return revision;
  }

  notify(): void {
    this.#requestProgressSoon(this.#toldRevision);
  }

  async write({ key, value, expectedRevision, signal }: WriteRequest): Promise<WriteResult> {
    checkKey(key);
    if (value === undefined && expectedRevision === 0) return { isWritten: false, current: await this.#read(key) };
    const swap = { key: this.#keys.etcdKey(key), value, expectedRevision: this.#form.etcdRevision(expectedRevision) };
    for (let attempt = 1; attempt <= MAX_CREATE_ATTEMPTS; attempt++) {
      if (signal?.aborted === true) throw new WriteAbandoned();
      const answer = await this.#swap({ swap, signal });
      if (answer.isWritten) return answer;
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
    const form = this.#form;
    const laterWrites = (index: number): number => Math.min(requests.length - 1 - index, form.step - 1);
    const swaps = requests.map(({ key, value, expectedRevision }, index) => {
      if (value === undefined && expectedRevision === 0) throw new Error("a delete in a transaction needs a revision");
      return {
        key: this.#keys.etcdKey(key),
        value: value && form.stored(value, laterWrites(index)),
        expectedRevision: form.etcdRevision(expectedRevision),
      };
    });
    const call = { path: transactionPath, message: encodeTransaction(swaps), isRepeatable: false };
    const { isWritten, revision, current } = decodeTransaction(await this.#call(call));
    if (isWritten) {
      await this.#untilGiven(form.storeRevision(revision));
      return requests.map((_, index) => ({
        isWritten: true,
        revision: form.storeRevision(revision, laterWrites(index)),
      }));
    }
    return requests.map((_, index) => {
      const found = current[index];
      return { isWritten: false, current: found && this.#entry(found) };
    });
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    const { revision } = request;
    if (revision !== undefined && revision < this.#compacted) throw new RevisionCompacted(this.#compacted);
    try {
      return await this.#ranges.read(request, this.#form);
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  watch(request: WatchRequest): { stop(): void } {
    const watch = new EtcdWatch({
      client: this.#client,
      range: this.#keys.watchedRange,
      storeKey: (key) => this.#keys.storeKey(key),
      form: this.#form,
      request,
      onClosed: (closed) => void this.#watches.delete(closed),
    });
    this.#watches.add(watch);
    if (request.afterRevision < this.#compacted) {
      const error = new RevisionCompacted(this.#compacted);
      setImmediate(() => watch.end(error));
    }
    return watch;
  }

  async compact(storeRevision: number): Promise<void> {
    // The other writes of its transaction are still read.
    const revision = Math.floor(storeRevision / this.#form.step);
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
    if (await this.#isReadable(forgotten)) return this.#compacted;
    let readable = await this.#latest.read();
    while (readable - forgotten > 1) {
      const middle = Math.floor((forgotten + readable) / 2);
      if (await this.#isReadable(middle)) readable = middle;
      else forgotten = middle;
    }
    this.#compactedRevision = Math.max(this.#compactedRevision, readable);
    return this.#compacted;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#progressTimer);
    for (const watch of this.#watches) watch.end(closed());
    this.#client.close();
  }

  get #form(): RevisionForm {
    return this.#opened.form;
  }

  get #compacted(): number {
    return this.#form.storeRevision(this.#compactedRevision);
  }

  /** A delete goes by itself: it has no value that could tell its place in a transaction. */
  #swap(write: GroupedWrite): Promise<WriteAnswer> {
    const isAlone = write.swap.value === undefined || this.#form === plainRevisions;
    return isAlone ? this.#sendAlone(write.swap) : this.#groups.write(write);
  }

  async #sendAlone(swap: SwapMessage): Promise<WriteAnswer> {
    const form = this.#form;
    const message = encodeSwap({ ...swap, value: swap.value && form.stored(swap.value, 0) });
    const answer = decodeSwap(await this.#call({ path: transactionPath, message, isRepeatable: false }));
    // kine reports success when it deletes a key that does not exist.
    const isDeleteOfNothing = swap.value === undefined && answer.current === undefined && answer.deletedCount === 0;
    if (!answer.isWritten || isDeleteOfNothing) return { isWritten: false, current: answer.current };
    const revision = form.storeRevision(answer.revision);
    await this.#untilGiven(revision);
    return { isWritten: true, revision };
  }

  async #sendGroup(swaps: readonly SwapMessage[]): Promise<readonly WriteAnswer[]> {
    const [first] = swaps;
    if (first !== undefined && swaps.length === 1) return [await this.#sendAlone(first)];
    const form = this.#form;
    const laterWrites = (index: number): number => swaps.length - 1 - index;
    const marked = swaps.map((swap, index) => ({
      ...swap,
      value: swap.value && form.stored(swap.value, laterWrites(index)),
    }));
    const call = { path: transactionPath, message: encodeSwaps(marked), isRepeatable: false };
    let answer: Buffer;
    try {
      answer = await this.#call(call);
    } catch (error) {
      // This etcd takes shorter requests, or fewer operations in one.
      if (error instanceof ValueTooLarge || error instanceof TransactionsUnsupported)
        return await Promise.all(swaps.map((swap) => this.#sendAlone(swap)));
      throw error;
    }
    const answers = decodeSwaps(answer);
    await this.#untilGiven(form.storeRevision(answers[0]?.revision ?? 0));
    return answers.map(({ isWritten, revision, current }, index) =>
      isWritten ? { isWritten, revision: form.storeRevision(revision, laterWrites(index)) } : { isWritten, current },
    );
  }

  async #readLatest(): Promise<number> {
    const { revision } = await this.#range({ key: this.#keys.fenceKey, rangeEnd: "", revision: 0, limit: 1 });
    return revision;
  }

  async #read(key: string): Promise<Entry | undefined> {
    const { keyValues } = await this.#range({ key: this.#keys.etcdKey(key), rangeEnd: "", revision: 0, limit: 1 });
    return keyValues[0] && this.#entry(keyValues[0]);
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

  #entry(keyValue: KeyValue): Entry {
    return this.#form.entry(this.#keys.storeKey(keyValue.key) ?? keyValue.key, keyValue);
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
