import { setImmediate as nextTurn } from "node:timers/promises";
import type { Sleep } from "../api/clock.ts";
import { messageOf } from "../api/thrown-error.ts";
import type { OutageReport } from "../logging/outage-report.ts";
import { RevisionCompacted, StoreDamaged, StoreUnavailable } from "./store.ts";
import type { Change, Entry, Head, LogRequest, LogResult, Store } from "./store.ts";
import { keyAfter, prefixEnd } from "./key-range.ts";

const firstRetryMilliseconds = 50;
const lastRetryMilliseconds = 5_000;
const maximumAttempts = 10;
/** How long callers wait for a revision while no change arrives. An election of etcd's leader takes less. */
const stallMilliseconds = 10_000;

/** How a cache receives the contents and changes of the store. */
export interface FeedMember {
  readonly prefix: string;
  /** The load may get heads instead of entries whose values begin with this byte. Absent: it needs all values. */
  readonly unneededFirstByte?: number | undefined;
  /** Begins to collect a new state under the prefix. The state takes effect when its `finish` is called, which may never happen. */
  beginLoad(): FeedLoad;
  apply(change: Change): void;
  /** Called when every change up to the revision is applied. */
  progress(revision: number): void;
  /** Called when no more changes will come. */
  end(error: Error): void;
}

export interface FeedLoad {
  /** Adds entries, over all calls in byte order of the keys. */
  add(entries: readonly (Entry | Head)[]): void;
  /** Replaces the old state with the collected one, which is of this revision. The changes in between are not known. */
  finish(revision: number): void;
}

/** The size of one read of a load: small enough to use little memory, and to let other readers and requests run in between. */
const entriesAtOnce = 2000;
const bytesAtOnce = 16 * 2 ** 20;

/** The part of the store's log before the first load, which can be read later. */
export interface EarlierLog {
  /** The revision after which this part begins. */
  readonly afterRevision: number;
  /** The revision of the load. */
  readonly untilRevision: number;
  read(request: LogRequest): Promise<LogResult>;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export interface FeedFollowerOptions {
  readonly store: Store;
  readonly replayLength: number;
  /** Reports when no changes arrive, and when they arrive again. A single watch that ends is no outage, because the next one continues. */
  readonly outage: OutageReport;
  readonly sleep: Sleep;
  readonly onChanges: (changes: readonly Change[]) => void;
}

/**
 * One watch of the store for several caches. Loads all of them at one revision, then applies every later change without
 * a gap.
 */
export class FeedFollower {
  /** Every change up to this revision has been applied. */
  revision = 0;
  /** Undefined before the load. Undefined also if the log can't be read later: then the load reads an earlier revision instead. */
  earlierLog: EarlierLog | undefined;
  readonly started: Promise<void>;
  readonly #store: Store;
  readonly #replayLength: number;
  readonly #outage: OutageReport;
  readonly #sleep: Sleep;
  readonly #onChanges: FeedFollowerOptions["onChanges"];
  readonly #members = new Map<string, FeedMember>();
  readonly #waiters = new Set<Waiter>();
  #watch: { stop(): void } | undefined;
  /** When the newest watch began. */
  #followedAt = -Infinity;
  /** The wait before the next watch. It grows while watches end soon after they begin. */
  #retryMilliseconds = 0;
  #stallTimer: NodeJS.Timeout | undefined;
  #lastMember: FeedMember | undefined;
  readonly #stopping = new AbortController();

  constructor({ store, replayLength, outage, sleep, onChanges }: FeedFollowerOptions) {
    this.#store = store;
    this.#replayLength = replayLength;
    this.#outage = outage;
    this.#sleep = sleep;
    this.#onChanges = onChanges;
    this.started = Promise.resolve().then(() => this.#start());
    this.started.catch(() => {}); // members await it
  }

  add(member: FeedMember): void {
    if (!/^\/.*\/$/s.test(member.prefix)) throw new Error(`${member.prefix} must begin and end with a slash`);
    if (this.#members.has(member.prefix)) throw new Error(`${member.prefix} has a cache already`);
    this.#members.set(member.prefix, member);
  }

  /**
   * Resolves when the revision is applied; undefined when it is already. Rejects with the signal's reason, and with StoreUnavailable when
   * no change at all has arrived for ten seconds.
   */
  waitFor(revision: number, signal?: AbortSignal): Promise<void> | undefined {
    if (revision <= this.revision) return undefined;
    this.#store.catchUp();
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { revision, resolve, reject };
    const onAbort = (): void => {
      this.#waiters.delete(waiter);
      reject(signal?.reason);
    };
    if (this.#waiters.size === 0) this.#expectChanges();
    this.#waiters.add(waiter);
    signal?.addEventListener("abort", onAbort, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", onAbort));
  }

  stop(): void {
    this.#stopping.abort();
    this.#watch?.stop();
    const closing = new StoreUnavailable("the store is closing");
    for (const member of this.#members.values()) member.end(closing);
    this.#rejectWaiters(closing);
  }

  #rejectWaiters(error: Error): void {
    clearTimeout(this.#stallTimer);
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }

  #expectChanges(): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = setTimeout(() => void this.#endStall(), stallMilliseconds);
    this.#stallTimer.unref();
  }

  /** Call it when the watch has brought a change or progress: the watch works. */
  #endOutage(): void {
    this.#outage.succeeded();
    if (this.#waiters.size > 0) this.#stallTimer?.refresh();
  }

  /** Rejects the waiting callers and starts a new watch, because no change has arrived for ten seconds. */
  async #endStall(): Promise<void> {
    const { revision } = this;
    const reason = await this.#stallReason();
    if (this.#waiters.size === 0 || this.revision !== revision) return;
    if (reason === undefined) return this.#expectChanges();
    this.#rejectWaiters(new StoreUnavailable(`the store does not tell what changes: ${reason}`));
    if (this.#watch === undefined) return;
    this.#watch.stop();
    this.#outage.failed(reason);
    void this.#recover(new StoreUnavailable(reason));
  }

  /** Says why no change arrives. Undefined: the callers wait for revisions that the store does not have yet. */
  async #stallReason(): Promise<string | undefined> {
    try {
      const latestRevision = await this.#store.latestRevision();
      if ([...this.#waiters].every((waiter) => waiter.revision > latestRevision)) return undefined;
      return this.#outage.reason ?? `nothing has come for ${stallMilliseconds / 1000} s`;
    } catch (error) {
      return messageOf(error);
    }
  }

  async #start(): Promise<void> {
    const latestRevision = await this.#load();
    this.#follow();
    await this.waitFor(latestRevision, this.#stopping.signal);
  }

  /** Loads every member at one revision, from which the watch then continues. Returns the latest revision. */
  async #load(): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      const latestRevision = await this.#store.latestRevision();
      const compactedRevision = await this.#store.compactedRevision();
      // No replay at a later load: clients list again after it, and the same changes might end the next watch as they ended the last one.
      const replayed = this.revision === 0 ? this.#replayLength * (this.#store.revisionsPerWrite ?? 1) : 0;
      // The revision of an empty store belongs to no write, so the log never reports it.
      const afterRevision = Math.max(
        compactedRevision,
        latestRevision - replayed,
        this.revision,
        Math.min(1, latestRevision),
      );
      const read = this.revision === 0 ? this.#store.readLog?.bind(this.#store) : undefined;
      const revision = read === undefined ? afterRevision : latestRevision;
      try {
        const loads: FeedLoad[] = [];
        for (const member of this.#members.values()) {
          const load = member.beginLoad();
          await this.#read(member, { revision, load });
          loads.push(load);
        }
        if (this.#stopping.signal.aborted) return latestRevision;
        for (const load of loads) load.finish(revision);
        if (read !== undefined) this.earlierLog = { afterRevision, untilRevision: revision, read };
        this.#advance(revision);
        return latestRevision;
      } catch (error) {
        if (!(error instanceof RevisionCompacted) || attempt === maximumAttempts) throw error;
      }
    }
  }

  async #read(
    { prefix, unneededFirstByte: firstByte }: FeedMember,
    { revision, load }: { readonly revision: number; readonly load: FeedLoad },
  ): Promise<void> {
    const store = this.#store;
    const end = prefixEnd(prefix);
    for (let start = prefix; !this.#stopping.signal.aborted;) {
      const request = { start, end, revision, limit: entriesAtOnce, maximumBytes: bytesAtOnce, showsDamaged: true };
      const { entries, hasMore } = await (firstByte === undefined || store.rangeOfHeads === undefined
        ? store.range(request)
        : store.rangeOfHeads({ ...request, firstByte }));
      load.add(entries);
      const last = entries.at(-1);
      if (!hasMore || last === undefined) return;
      start = keyAfter(last.key);
      await nextTurn();
    }
  }

  #follow(): void {
    if (this.#stopping.signal.aborted) return;
    this.#followedAt = performance.now();
    this.#watch = this.#store.watch({
      afterRevision: this.revision,
      onChanges: (changes) => this.#apply(changes),
      onProgress: (revision) => {
        this.#endOutage();
        this.#advance(revision);
      },
      onEnd: (error) => void this.#recover(error),
    });
  }

  #apply(changes: readonly Change[]): void {
    this.#endOutage();
    this.#onChanges(changes);
    for (const change of changes) this.#memberOf(change.key)?.apply(change);
    const last = changes.at(-1);
    if (last !== undefined) this.#advance(last.revision);
  }

  /**
   * Finds the member whose prefix the key starts with. It is often the member of the last change; otherwise this looks up the key's
   * beginnings, one for each slash. Prefixes have two or three slashes, and no prefix is the start of another one.
   */
  #memberOf(key: string): FeedMember | undefined {
    if (this.#lastMember !== undefined && key.startsWith(this.#lastMember.prefix)) return this.#lastMember;
    return (this.#lastMember = this.#findMember(key));
  }

  #findMember(key: string): FeedMember | undefined {
    for (let slash = key.indexOf("/", 1); slash !== -1; slash = key.indexOf("/", slash + 1)) {
      const member = this.#members.get(key.slice(0, slash + 1));
      if (member !== undefined) return member;
    }
    return undefined;
  }

  #advance(revision: number): void {
    this.revision = revision;
    for (const member of this.#members.values()) member.progress(revision);
    for (const waiter of this.#waiters) {
      if (waiter.revision > revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /**
   * Starts a new watch where the last one ended. Loads all members again when the store no longer has the history since then, or when this
   * history is damaged: a load shows damaged entries as unreadable.
   */
  async #recover(error: Error): Promise<void> {
    this.#watch = undefined;
    const { signal } = this.#stopping;
    const isDamaged = error instanceof StoreDamaged;
    const isForgotten = error instanceof RevisionCompacted;
    if (isDamaged) this.#outage.failed(error);
    if (isForgotten && error.cause !== undefined) this.#outage.failed(error.cause);
    if (performance.now() - this.#followedAt > lastRetryMilliseconds)
      this.#retryMilliseconds = isForgotten ? 0 : firstRetryMilliseconds;
    else if (!isForgotten) this.#outage.failed(error);
    while (!signal.aborted) {
      const wait = this.#retryMilliseconds;
      this.#retryMilliseconds = nextWait(wait);
      try {
        await this.#sleep(wait, signal);
        if (signal.aborted) return;
        if (isForgotten || isDamaged) await this.#load();
        return this.#follow();
      } catch (cause) {
        if (!signal.aborted) this.#outage.failed(cause);
      }
    }
  }
}

const nextWait = (wait: number): number => Math.min(lastRetryMilliseconds, Math.max(firstRetryMilliseconds, wait * 2));
