import { prefixRange, singleKeyRange } from "../key-range.ts";
import { messageOf } from "../../api/thrown-error.ts";
import { andThen } from "../../api/maybe-promise.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { LongWork } from "../../scheduling/long-work.ts";
import { RevisionCompacted, StoreUnavailable } from "../store.ts";
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
  StoredValue,
  WatchRequest,
  WriteRequest,
  WriteResult,
} from "../store.ts";
import type { EncryptionRules } from "./encryption-rules.ts";
import { storedEntry } from "../stored-entries.ts";
import { OrderedWatch } from "./ordered-watch.ts";
import { KmsUnavailable, UndecryptableValue } from "./value-transformer.ts";

/** The source of the rules: a configuration file that may change. */
export interface EncryptionSource {
  current(): EncryptionRules;
  /**
   * The rules after a look at the file. Called before a write, and when a value can't be decrypted: other processes may already use a
   * newer key.
   */
  refreshed(): EncryptionRules;
  /** Calls `listener` when unreadable values may have become readable: a KMS works again, or there is a new key. */
  onReadable(listener: () => void): void;
}

/**
 * A store that keeps some values encrypted. Values of kinds without encryption are stored as they are. A value that can't be decrypted
 * is shown as unreadable, with the reason, and does not affect other values.
 */
export class EncryptedStore implements Store {
  readonly valueAt: Store["valueAt"];
  readonly rangeOfHeads: Store["rangeOfHeads"];
  readonly readLog: Store["readLog"];
  readonly #store: Store;
  readonly #source: EncryptionSource;
  readonly #watches = new Set<OrderedWatch>();
  /** Whether values were shown as unreadable, which may become readable. */
  #hasUnreadable = false;
  /** Whether values became readable while there was no watch. The next watch ends at once, so that its follower loads again. */
  #isReloadDue = false;

  constructor(store: Store, source: EncryptionSource) {
    this.#store = store;
    this.#source = source;
    if (store.valueAt !== undefined) this.valueAt = (write) => store.valueAt?.(write);
    if (store.rangeOfHeads !== undefined) this.rangeOfHeads = (request) => this.#rangeOfHeads(request);
    const readLog = store.readLog?.bind(store);
    if (readLog !== undefined) this.readLog = (request) => this.#readLog(readLog, request);
    source.onReadable(() => this.#reload());
  }

  get revisionsPerWrite(): number | undefined {
    return this.#store.revisionsPerWrite;
  }

  latestRevision(): number | Promise<number> {
    return this.#store.latestRevision();
  }

  writingMilliseconds(): number {
    return this.#store.writingMilliseconds?.() ?? 0;
  }

  catchUp(): void {
    this.#store.catchUp();
  }

  write(request: WriteRequest): Promise<WriteResult> {
    return this.#hasRule(request) ? this.#writeEncrypted(request) : this.#store.write(request);
  }

  writeTogether(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    const isEncrypted = requests.some((request) => this.#hasRule(request));
    return isEncrypted ? this.#writeTogetherEncrypted(requests) : this.#store.writeTogether(requests);
  }

  async #writeTogetherEncrypted(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    const encrypted = await Promise.all(requests.map((request) => this.#encrypted(request)));
    const results = await this.#store.writeTogether(encrypted);
    const read = await Promise.all(results.map((result) => this.#result(result)));
    if (read.some(({ isWritten }) => isWritten)) await this.#delivered();
    return read;
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    return this.#readRange(await this.#store.range(request));
  }

  /** Reads heads. Below a prefix with a rule, reads whole entries: a plain value there is stale, and must be known as such. */
  async #rangeOfHeads(request: HeadsRequest): Promise<HeadsResult> {
    const { rangeOfHeads } = this.#store;
    if (rangeOfHeads === undefined || !this.#source.current().hasNone(request)) return this.range(request);
    return this.#readRange(await rangeOfHeads.call(this.#store, request));
  }

  /** Reads the log, and decrypts its values as `range` does. */
  async #readLog(read: NonNullable<Store["readLog"]>, { firstByte, ...request }: LogRequest): Promise<LogResult> {
    const { prefix } = request;
    const mayLeaveOut = this.#source.current().hasNone(prefixRange(prefix));
    const result = await read(mayLeaveOut ? { ...request, firstByte } : request);
    const writes: LoggedWrite[] = [];
    const work = new LongWork();
    for (const write of result.writes) {
      const { version, previous } = write;
      writes.push({
        ...write,
        version: version && (await this.#readEntry(version)),
        previous: previous && (await this.#readEntry(previous)),
      });
      await work.pause();
    }
    return { ...result, writes };
  }

  async #readRange<R extends HeadsResult>(result: R): Promise<R> {
    const rules = this.#source.current();
    if (result.entries.every((entry) => entry.value === undefined || rules.isPlain(entry.key, entry.value)))
      return result;
    const entries: HeadsResult["entries"] = [];
    const work = new LongWork();
    for (const entry of result.entries) {
      const read = this.#readEntry(entry);
      entries.push(read instanceof Promise ? await read : read);
      const pause = work.pause();
      if (pause !== undefined) await pause;
    }
    return { ...result, entries };
  }

  #readEntry(entry: Entry | Head): MaybePromise<Entry | Head> {
    return entry.value === undefined ? entry : this.#read(entry);
  }

  isStale(key: string): MaybePromise<boolean> {
    if (this.#source.current().hasNone(singleKeyRange(key))) return false;
    this.#source.refreshed();
    return storedEntry(this, key).then((entry) => entry?.isStale === true);
  }

  watch(request: WatchRequest): { stop(): void } {
    const watch: OrderedWatch = new OrderedWatch({
      store: this.#store,
      request,
      read: (changes) => this.#readAll(changes),
      onStopped: () => void this.#watches.delete(watch),
    });
    this.#watches.add(watch);
    if (this.#isReloadDue) {
      this.#isReloadDue = false;
      setImmediate(() => watch.end(new RevisionCompacted(0)));
    }
    return watch;
  }

  compact(revision: number): Promise<void> {
    return this.#store.compact(revision);
  }

  compactedRevision(): number | Promise<number> {
    return this.#store.compactedRevision();
  }

  async sizeBytes(): Promise<number | undefined> {
    return await this.#store.sizeBytes?.();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Whether values of a key are encrypted. For other keys, a look at the configuration file would waste system calls. */
  #hasRule({ key }: WriteRequest): boolean {
    return this.#source.current().writerFor(key) !== undefined;
  }

  async #writeEncrypted(request: WriteRequest): Promise<WriteResult> {
    const result = await this.#store.write(await this.#encrypted(request));
    if (result.isWritten) await this.#delivered();
    return this.#result(result);
  }

  async #encrypted(request: WriteRequest): Promise<WriteRequest> {
    const { key, value: plain } = request;
    if (plain === undefined || !this.#hasRule(request)) return request;
    const writer = this.#source.refreshed().writerFor(key);
    if (writer === undefined) return request;
    try {
      return { ...request, value: await writer.encrypt(plain, key) };
    } catch (cause) {
      throw new StoreUnavailable(`the value can't be encrypted: ${messageOf(cause)}`, { cause });
    }
  }

  /** Resolves when the watches have received what was written. They may still wait, because a KMS must decrypt an earlier change. */
  async #delivered(): Promise<void> {
    for (const watch of this.#watches) await watch.delivered();
  }

  async #result(result: WriteResult): Promise<WriteResult> {
    if (result.isWritten || result.current === undefined) return result;
    return { isWritten: false, current: await this.#read(result.current) };
  }

  #readAll(changes: readonly Change[]): MaybePromise<readonly Change[]> {
    const rules = this.#source.current();
    if (changes.every(({ key, value }) => value === undefined || rules.isPlain(key, value))) return changes;
    const read = changes.map((change) => this.#readChange(change));
    return read.some((one) => one instanceof Promise) ? Promise.all(read.map(async (one) => one)) : (read as Change[]); // none is a promise
  }

  #readChange(change: Change): MaybePromise<Change> {
    const { key, value } = change;
    return value === undefined ? change : this.#read({ ...change, key, value });
  }

  #read<T extends StoredValue>(stored: T): MaybePromise<T> {
    const { key, value } = stored;
    const rules = this.#source.current();
    if (stored.unreadable !== undefined || rules.isPlain(key, value)) return stored;
    return this.#decrypt(stored, {
      rules,
      onFailure: (error) => {
        const newer = this.#source.refreshed();
        if (newer === rules) return this.#unreadable(stored, error);
        return this.#decrypt(stored, { rules: newer, onFailure: (again) => this.#unreadable(stored, again) });
      },
    });
  }

  #decrypt<T extends StoredValue>(
    stored: T,
    { rules, onFailure }: { readonly rules: EncryptionRules; onFailure(error: UndecryptableValue): MaybePromise<T> },
  ): MaybePromise<T> {
    const failed = (error: unknown): MaybePromise<T> => {
      if (error instanceof UndecryptableValue) return onFailure(error);
      throw error;
    };
    try {
      const read = andThen(rules.decrypt(stored.key, stored.value), ({ plain, isStale }) => ({
        ...stored,
        value: plain,
        ...(this.valueAt !== undefined && { isDecrypted: true }),
        ...(isStale && { isStale }),
      }));
      return read instanceof Promise ? read.catch(failed) : read;
    } catch (error) {
      return failed(error);
    }
  }

  /** The entry as unreadable, without its stored bytes, so that no reader takes these for the object. */
  #unreadable<T extends StoredValue>(stored: T, error: UndecryptableValue): T {
    this.#hasUnreadable = true;
    return {
      ...stored,
      value: noBytes,
      unreadable: error.message,
      ...(error instanceof KmsUnavailable && { isKmsUnavailable: true }),
    };
  }

  /** Ends the watches, so that their followers load everything anew: a value that became readable is not sent again by a change. */
  #reload(): void {
    if (!this.#hasUnreadable) return;
    this.#hasUnreadable = false;
    // Without a watch, a load may be running that has read some of the values already.
    this.#isReloadDue = this.#watches.size === 0;
    for (const watch of this.#watches) watch.end(new RevisionCompacted(0));
  }
}
