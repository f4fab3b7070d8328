import {
  RevisionCompacted,
  RevisionInFuture,
  StoreUnavailable,
  TransactionsUnsupported,
  ValueTooLarge,
  WriteAbandoned,
  WriteOutcomeUnknown,
  storeClosed,
} from "../store.ts";
import type { RangeRequest, RangeResult, Store, WatchRequest, WriteRequest, WriteResult } from "../store.ts";
import { EtcdClient } from "../etcd/etcd-client.ts";
import type { EtcdClientOptions, MakeEtcdCall } from "../etcd/etcd-client.ts";
import { decodeRange, encodeCompaction, encodePut, encodeRange } from "../etcd/etcd-messages.ts";
import type { KeyValue, RangeAnswer, RangeMessage } from "../etcd/etcd-messages.ts";
import { etcdMethods } from "../etcd/etcd-methods.ts";
import { EtcdWatch } from "../etcd/etcd-watch.ts";
import { WatchCheck } from "../etcd/watch-check.ts";
import { EtcdPrefix } from "../etcd/etcd-prefix.ts";
import type { OpenedPrefix } from "../etcd/etcd-prefix.ts";
import { KeySpace } from "../etcd/key-space.ts";
import { RangeReader } from "../etcd/range-reader.ts";
import { GrpcError, grpcStatus } from "../../grpc/grpc-error.ts";
import { SharedRead } from "../etcd/shared-read.ts";
import { plainRevisions } from "../etcd/revision-form.ts";
import type { RevisionForm } from "../etcd/revision-form.ts";
import { EtcdWriter, throwGuardLost, withoutRevision } from "../etcd/etcd-writer.ts";
import {
  explained,
  hasOrderedProgress,
  isCompacted,
  isInFuture,
  isOutOfSpace,
  isTooLarge,
  isUnsupportedTransaction,
  isWithoutFence,
} from "../etcd/etcd-errors.ts";
import { asError } from "../../api/thrown-error.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { waitAtMost } from "../../scheduling/wait-at-most.ts";
import { checkKey, checkKeys } from "../check-key.ts";
import { everyKey } from "../key-range.ts";
import { storedEntry } from "../stored-entries.ts";

export interface EtcdStoreOptions extends EtcdClientOptions {
  /** The prefix of every key in etcd: a path without a trailing slash. */
  readonly prefix: string;
  readonly profile: string;
}

const abandonedAtOnce = 1_000;
/** The longest time that a write waits until this process's watches have delivered it. */
const deliveryMilliseconds = 2_000;
/** How often a create is retried while others create and delete the same key. */
const maximumCreateAttempts = 16;
const firstProgressMilliseconds = 10;
const lastProgressMilliseconds = 500;

/**
 * The store for several replicas: an etcd cluster, or another server of etcd's API. See docs/decisions/0003-etcd.md.
 */
export class EtcdStore implements Store {
  readonly #client: EtcdClient;
  readonly #keys: KeySpace;
  readonly #prefix: EtcdPrefix;
  readonly #ranges: RangeReader;
  readonly #watches = new Set<EtcdWatch>();
  /** The check of the watch that ended last. */
  #leftCheck: WatchCheck | undefined;
  readonly #latest: SharedRead<number>;
  #opened: OpenedPrefix = { form: plainRevisions, shift: 0, guard: undefined, importedAt: 0 };
  #writer: EtcdWriter;
  /** etcd's newest compacted revision that this process knows, or etcd's revision at the end of the import if that is newer. */
  #compactedRevision = 0;
  /** The newest revision that a caller waits for. */
  #wantedRevision = 0;
  /** The newest revision that `latestRevision` has returned. */
  #returnedRevision = 0;
  /** The revision that etcd had before it lost its newest writes. Undefined: it has lost none. */
  #lostRevision: number | undefined;
  #progressTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ prefix, profile, ...options }: EtcdStoreOptions) {
    this.#client = new EtcdClient(options);
    this.#keys = new KeySpace({ prefix, profile });
    const parts = { keys: this.#keys, call: this.#call };
    this.#prefix = new EtcdPrefix(parts);
    this.#ranges = new RangeReader(parts);
    this.#latest = new SharedRead(() => this.#readLatest());
    this.#writer = this.#writerFor(this.#opened);
  }

  #writerFor({ form, guard }: OpenedPrefix): EtcdWriter {
    return new EtcdWriter({
      form,
      guard,
      call: this.#call,
      untilDelivered: (revision) => this.#untilDelivered(revision),
    });
  }

  #use(opened: OpenedPrefix): number {
    this.#opened = opened;
    // A client with a revision from before the import would miss the deletes in between, so it must list again.
    this.#compactedRevision = Math.max(this.#compactedRevision, opened.importedAt);
    this.#writer = this.#writerFor(opened);
    return opened.shift;
  }

  /** Returns the number to add to the revisions (see ShiftedStore). Rejects as EtcdPrefix does. */
  async open(options: { readonly mayBegin: boolean } = { mayBegin: true }): Promise<number> {
    return this.#use(await this.#prefix.open(options));
  }

  /** As `open`, for an import into an empty prefix (see EtcdPrefix). */
  async startImport(revision: number): Promise<number> {
    return this.#use(await this.#prefix.startImport(revision));
  }

  async finishImport(): Promise<void> {
    await this.#prefix.finishImport(this.#opened);
  }

  /** Removes the objects and the state that an import has written. */
  async abandonImport(): Promise<void> {
    for (;;) {
      const { entries, hasMore } = await this.range({ ...everyKey, limit: abandonedAtOnce });
      await Promise.all(
        entries.map(({ key, modRevision }) => this.write({ key, value: undefined, expectedRevision: modRevision })),
      );
      if (!hasMore) break;
    }
    await this.#prefix.write(undefined);
  }

  /** Marks the prefix, so that no server uses it any more. */
  async markMoved(): Promise<void> {
    await this.#prefix.write({ type: "moved" });
  }

  get revisionsPerWrite(): number {
    return this.#form.revisionsPerWrite;
  }

  async latestRevision(): Promise<number> {
    const revision = this.#form.storeRevision(await this.#latest.read());
    this.#returnedRevision = Math.max(this.#returnedRevision, revision);
    return revision;
  }

  catchUp(): void {
    this.#requestProgressSoon(this.#returnedRevision);
  }

  async write({ key, value, expectedRevision, signal }: WriteRequest): Promise<WriteResult> {
    checkKey(key);
    if (value === undefined && expectedRevision === 0)
      return { isWritten: false, current: await storedEntry(this, key) };
    const swap = { key: this.#keys.etcdKey(key), value, expectedRevision: this.#form.etcdRevision(expectedRevision) };
    for (let attempt = 1; attempt <= maximumCreateAttempts; attempt++) {
      if (signal?.aborted === true) throw new WriteAbandoned();
      const outcome = await this.#writer.swap({ swap, signal });
      if (outcome.isWritten) return outcome;
      if (expectedRevision !== 0 || outcome.current !== undefined) return this.#refused(outcome.current);
      const current = await storedEntry(this, key);
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
      return { key: this.#keys.etcdKey(key), value, expectedRevision: this.#form.etcdRevision(expectedRevision) };
    });
    const outcomes = await this.#writer.swapTogether(swaps);
    return outcomes.map((outcome) => (outcome.isWritten ? outcome : this.#refused(outcome.current)));
  }

  #refused(current: KeyValue | undefined): WriteResult {
    return { isWritten: false, current: current && this.#ranges.entry(current, this.#form) };
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
      // Not for kine, which counts keys differently.
      ...(this.#opened.guard !== undefined && {
        check: this.#checkAfter(this.#form.etcdRevision(request.afterRevision)),
      }),
      request,
      onClosed: (closed) => this.#leave(closed),
    });
    this.#watches.add(watch);
    // Callers that already wait for a revision must now wait for this watch too.
    this.#requestProgressSoon(this.#wantedRevision);
    if (request.afterRevision < this.#compacted) {
      const error = new RevisionCompacted(this.#compacted);
      setImmediate(() => watch.end(error));
    }
    return watch;
  }

  #leave(watch: EtcdWatch): void {
    this.#watches.delete(watch);
    this.#leftCheck?.stop();
    this.#leftCheck = watch.check;
  }

  /** The check for a new watch. Continues the last watch's check where possible: that watch may have lost an event after the last check. */
  #checkAfter(afterRevision: number): WatchCheck {
    const left = this.#leftCheck;
    this.#leftCheck = undefined;
    if (left?.goesOnAfter(afterRevision) === true) return left;
    left?.stop();
    return new WatchCheck({
      range: this.#keys.watchedRange,
      afterRevision,
      read: (message) => this.#range(message),
    });
  }

  async compact(storeRevision: number): Promise<void> {
    // Rounded down: the other writes of the same transaction must stay readable.
    const revision = Math.floor(storeRevision / this.#form.step);
    if (revision <= this.#compactedRevision) return;
    const message = encodeCompaction(revision);
    try {
      await this.#call({ path: etcdMethods.compaction, message, isRepeatable: true, decode: unread });
    } catch (error) {
      // Another replica may have compacted first.
      if (!(error instanceof GrpcError && isCompacted(error))) throw await this.#explained(error);
    }
    this.#compactedRevision = Math.max(this.#compactedRevision, revision);
  }

  /** The size of the database of the member that this process talks to. */
  async sizeBytes(): Promise<number> {
    return (await this.#client.status()).databaseBytes;
  }

  /** Searches for the oldest readable revision, because etcd does not report which revision was compacted. */
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
    for (const watch of this.#watches) watch.end(storeClosed());
    this.#leftCheck?.stop();
    this.#client.close();
  }

  get #form(): RevisionForm {
    return this.#opened.form;
  }

  get #compacted(): number {
    return this.#form.storeRevision(this.#compactedRevision);
  }

  async #readLatest(): Promise<number> {
    const { guard } = this.#opened;
    const key = guard?.key ?? this.#keys.fenceKey;
    const known = this.#form.etcdRevision(this.#knownRevision());
    const { revision, keyValues } = await this.#range({ key, rangeEnd: "", revision: 0, limit: 1 });
    if (revision === 0) throw new StoreUnavailable(withoutRevision);
    // The server's keys were removed or replaced: the revisions of new objects there do not continue this server's revisions.
    if (guard !== undefined && (keyValues[0]?.modRevision ?? 0) !== guard.revision) throwGuardLost(guard);
    // Not for kine, whose revision may lag. New writes reuse the lost revisions, so the loss remains when etcd has reached `known` again.
    if (guard !== undefined && revision < known) this.#lostRevision ??= known;
    if (this.#lostRevision !== undefined) throw wentBack(this.#lostRevision);
    return revision;
  }

  /** The newest revision that etcd is known to have had. */
  #knownRevision(): number {
    let known = this.#returnedRevision;
    for (const { position } of this.#watches) known = Math.max(known, position);
    return known;
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
    return await this.#call({
      path: etcdMethods.range,
      message: encodeRange(message),
      isRepeatable: true,
      decode: decodeRange,
    });
  }

  readonly #call: MakeEtcdCall = async (call) => {
    try {
      return await this.#client.call(call);
    } catch (error) {
      if (!(error instanceof GrpcError) || isCompacted(error) || isInFuture(error)) throw error;
      if (isTooLarge(error)) throw new ValueTooLarge(error.message, { cause: error });
      if (isUnsupportedTransaction(error)) throw new TransactionsUnsupported({ cause: error });
      const { guard } = this.#opened;
      if (guard !== undefined && isWithoutFence(error)) throwGuardLost(guard);
      const message = explained(error, call.path);
      if (!call.isRepeatable && mayHaveBeenDone(error)) throw new WriteOutcomeUnknown(message, { cause: error });
      throw new StoreUnavailable(message, { cause: error });
    }
  };

  /** Converts etcd's error about a revision to the contract's error. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof GrpcError)) return error;
    if (isCompacted(error)) return new RevisionCompacted(await this.compactedRevision());
    if (isInFuture(error)) return new RevisionInFuture(await this.latestRevision());
    return error;
  }

  /** Resolves once this process's watches have delivered a revision, or after a time limit. */
  async #untilDelivered(revision: number): Promise<void> {
    const waiting: Promise<void>[] = [];
    for (const watch of this.#watches) {
      watch.check?.addWrite(this.#form.etcdRevision(revision));
      const reached = watch.reaches(revision);
      if (reached !== undefined) waiting.push(reached);
    }
    if (waiting.length > 0) await waitAtMost(deliveryMilliseconds, Promise.all(waiting));
  }

  /** Makes the watches reach a revision soon, even when its key is outside of their range. */
  #requestProgressSoon(revision: number): void {
    this.#wantedRevision = Math.max(this.#wantedRevision, revision);
    if (this.#progressTimer === undefined && this.#isBehind()) this.#requestProgressIn(firstProgressMilliseconds);
  }

  #requestProgressIn(milliseconds: number): void {
    const again = (): void => {
      this.#progressTimer = undefined;
      if (this.#isBehind() && !this.#isClosed)
        this.#requestProgressIn(Math.min(lastProgressMilliseconds, milliseconds * 2));
    };
    // For instance etcd takes no writes. The watches end, because their readers would wait without an error until etcd works again.
    const fail = (error: unknown): void => {
      for (const watch of this.#behind()) watch.end(asError(error));
      again();
    };
    this.#progressTimer = setTimeout(() => {
      if (this.#isBehind()) this.#askForProgress().then(again, fail);
      else again();
    }, milliseconds);
    this.#progressTimer.unref();
  }

  #isBehind(): boolean {
    return this.#behind().length > 0;
  }

  #behind(): readonly EtcdWatch[] {
    return [...this.#watches].filter(({ position }) => position < this.#wantedRevision);
  }

  /**
   * Asks etcd for the progress of the watches. Where etcd's answer might come before earlier events, or not at all, writes the fence key
   * instead, whose event comes after them.
   */
  async #askForProgress(): Promise<void> {
    const watches = [...this.#watches];
    if (hasOrderedProgress(this.#client.serverVersion) && watches.every(({ reportsProgress }) => reportsProgress)) {
      for (const watch of watches) watch.requestProgress();
      return;
    }
    const message = encodePut(this.#keys.fenceKey, noBytes);
    await this.#call({ path: etcdMethods.put, message, isRepeatable: true, decode: unread });
  }
}

/** For answers without content. */
const unread = (): void => {};

/** The failures that are no refusals. A proxy that ends sends `canceled` for calls that it has passed on. */
const openOutcomes: ReadonlySet<number> = new Set([grpcStatus.canceled, grpcStatus.unknown, grpcStatus.internal]);

/** Whether etcd may have executed the call: it failed, and did not refuse. */
const mayHaveBeenDone = (error: GrpcError): boolean => openOutcomes.has(error.code) || isOutOfSpace(error);

const wentBack = (revision: number): StoreUnavailable =>
  new StoreUnavailable(
    `etcd had revision ${revision} and has an older one now: it was restored from a snapshot, or has lost writes; restart all servers`,
  );
