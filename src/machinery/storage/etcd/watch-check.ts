import { keyAfter } from "../key-range.ts";
import type { KeyValue, RangeAnswer, RangeMessage, WatchEvent } from "./etcd-messages.ts";
import type { EtcdRange } from "./key-space.ts";
import { lastKey } from "./range-reader.ts";

/** As often as kube-apiserver compares its caches with etcd (its feature DetectCacheInconsistency). */
const checkMilliseconds = 5 * 60_000;
/** Large, because etcd counts all following keys for each page: with small pages, this counting would be most of its work. */
const keysAtOnce = 5_000;
/** How many revisions of the newest events are kept. The answer to a write comes at most seconds after its event. */
const revisionsKept = 10_000;

export interface WatchCheckOptions {
  /** The etcd keys that are watched. */
  readonly range: EtcdRange;
  /** Reads a page. Rejects when etcd can't be reached, or has compacted the revision. */
  readonly read: (message: RangeMessage) => Promise<RangeAnswer>;
  /** etcd's revision that the watch begins after. */
  readonly afterRevision: number;
}

/**
 * Detects events that etcd did not send to a watch: some versions of etcd lose events, and the watch continues without an error. Compares
 * the events of a watch, and of the watches that continue it, with the keys in etcd from time to time, and with the writes of this process
 * at once. Keeps the keys that changed since the last check.
 */
export class WatchCheck {
  readonly #options: WatchCheckOptions;
  readonly #timer: NodeJS.Timeout;
  /** The revisions of the keys that were written since the last check, and still exist. */
  #written = new Map<string, number>();
  /** The number of keys created since the last check, minus the number of deleted ones. */
  #growth = 0;
  /** etcd's revision of the last check. */
  #checkedRevision: number;
  /** How many keys the last check found. Undefined: not known, because it failed. */
  #count: number | undefined;
  /** etcd's revision up to which all events are received. */
  #revision: number;
  /** etcd's revisions of the newest events: of all events after `#completeAfter`. */
  readonly #receivedRevisions = new Set<number>();
  #completeAfter: number;
  /** etcd's revisions of the writes of this process that the events have not reached. */
  readonly #ownWrites = new Set<number>();
  /** Resolves at the end of the running check. Undefined: no check is running. */
  #looking: Promise<void> | undefined;
  #hasLost = false;
  #onLoss: (() => void) | undefined;

  constructor(options: WatchCheckOptions) {
    this.#options = options;
    this.#checkedRevision = options.afterRevision;
    this.#revision = options.afterRevision;
    this.#completeAfter = options.afterRevision;
    this.#timer = setInterval(() => void this.check(), checkMilliseconds).unref();
    this.#look(() => this.#countFirst());
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Whether a watch that begins after one of etcd's revisions continues the events without a gap. */
  goesOnAfter(revision: number): boolean {
    return revision <= this.#revision;
  }

  /** Calls `onLoss`, never synchronously here, when etcd has changes whose events were lost. Replaces an earlier callback. */
  onLoss(onLoss: () => void): void {
    this.#onLoss = onLoss;
    if (this.#hasLost) setImmediate(onLoss);
  }

  /** Takes all events up to one of etcd's revisions. Events of earlier revisions may come again. */
  add(events: readonly WatchEvent[], revision: number): void {
    for (const { isDelete, keyValue } of events) {
      const { key, createRevision, modRevision } = keyValue;
      if (modRevision <= this.#revision) continue;
      this.#receivedRevisions.add(modRevision);
      if (isDelete) this.#written.delete(key);
      else this.#written.set(key, modRevision);
      if (isDelete) this.#growth -= 1;
      else if (createRevision === modRevision) this.#growth += 1;
    }
    this.#revision = Math.max(this.#revision, revision);
    for (const written of this.#ownWrites) {
      if (written > this.#revision) continue;
      this.#ownWrites.delete(written);
      this.#requireEvent(written);
    }
    for (const oldest of this.#receivedRevisions) {
      if (this.#receivedRevisions.size <= revisionsKept) break;
      this.#receivedRevisions.delete(oldest);
      this.#completeAfter = oldest;
    }
  }

  /** Takes etcd's revision of a write of this process. When the events reach that revision without an event of it, the event is lost. */
  addWrite(revision: number): void {
    if (revision <= this.#completeAfter) return;
    if (revision <= this.#revision) return this.#requireEvent(revision);
    this.#ownWrites.add(revision);
    if (this.#ownWrites.size > revisionsKept) this.#reportLoss(); // the watch hangs
  }

  #requireEvent(revision: number): void {
    if (!this.#receivedRevisions.has(revision)) this.#reportLoss();
  }

  /** Compares all keys in etcd with the events, at the newest received revision. When that fails, the next check starts without a count. */
  async check(): Promise<void> {
    await this.#looking;
    if (this.#revision !== this.#checkedRevision) this.#look(() => this.#compare());
    await this.#looking;
  }

  #look(look: () => Promise<void>): void {
    this.#looking = look()
      .catch(() => (this.#count = undefined))
      .then(() => (this.#looking = undefined));
  }

  async #countFirst(): Promise<void> {
    const revision = Math.max(1, this.#checkedRevision);
    this.#count = (await this.#options.read({ ...this.#options.range, revision, limit: 1, isKeysOnly: true })).count;
  }

  async #compare(): Promise<void> {
    const since = this.#checkedRevision;
    const revision = this.#revision;
    const written = this.#written;
    const expectedCount = this.#count === undefined ? undefined : this.#count + this.#growth;
    this.#checkedRevision = revision;
    this.#written = new Map();
    this.#growth = 0;
    let count = 0;
    let found = 0;
    for await (const page of this.#pagesAt(revision)) {
      count += page.length;
      for (const { key, modRevision } of page) {
        if (modRevision <= since) continue;
        if (written.get(key) !== modRevision) return this.#reportLoss();
        found += 1;
      }
    }
    if (found !== written.size || (expectedCount ?? count) !== count) this.#reportLoss();
    this.#count = count;
  }

  #reportLoss(): void {
    this.#hasLost = true;
    this.#onLoss?.();
  }

  async *#pagesAt(revision: number): AsyncGenerator<readonly KeyValue[]> {
    let { key } = this.#options.range;
    for (let hasMore = true; hasMore;) {
      const { rangeEnd } = this.#options.range;
      const page = await this.#options.read({ key, rangeEnd, revision, limit: keysAtOnce, isKeysOnly: true });
      yield page.keyValues;
      hasMore = page.hasMore;
      if (hasMore) key = keyAfter(lastKey(page.keyValues, key));
    }
  }
}
