import { RevisionCompacted, RevisionInFuture, WriteAbandoned, isExpected, storeClosed } from "../store.ts";
import type {
  Change,
  Entry,
  RangeRequest,
  RangeResult,
  Store,
  WatchRequest,
  WriteRequest,
  WriteResult,
} from "../store.ts";
import { LogWatches } from "../log-watches.ts";
import { SortedMap } from "../sorted-map.ts";
import { answerAt } from "../answer-at.ts";
import { checkKeys } from "../check-key.ts";

/** A store in memory for tests of this repository, and for tests that use `signet/testing`. */
export class MemoryStore implements Store {
  /** Starts with the change after #compactedRevision. */
  #log: Change[] = [];
  /** The kept changes of each key, oldest first. */
  readonly #versions = new SortedMap<Change[]>();
  readonly #watches: LogWatches;
  /** An empty store is at revision 1, as in etcd: 0 is not a valid resourceVersion. */
  #latestRevision = 1;
  #compactedRevision = 0;
  #isClosed = false;

  constructor() {
    this.#watches = new LogWatches({
      latestRevision: () => this.#latestRevision,
      compactedRevision: () => this.#compactedRevision,
      changesAfter: (afterRevision, { count }) => {
        const from = Math.max(0, afterRevision + 1 - (this.#log[0]?.revision ?? 0));
        return this.#log.slice(from, from + count); // shared, not copied: their bytes cost nothing
      },
    });
  }

  latestRevision(): number {
    return this.#latestRevision;
  }

  /** Does nothing: no other process can write. */
  catchUp(): void {}

  compactedRevision(): number {
    return this.#compactedRevision;
  }

  async write(request: WriteRequest): Promise<WriteResult> {
    return answerAt(await this.writeTogether([request]), 0);
  }

  async writeTogether(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    checkKeys(requests);
    if (this.#isClosed) throw storeClosed();
    if (requests.some(({ signal }) => signal?.aborted === true)) throw new WriteAbandoned();
    const found = requests.map(({ key }) => this.#current(key));
    const areExpected = requests.every((request, index) => isExpected(request, found[index]?.modRevision ?? 0));
    if (!areExpected) return found.map((current) => ({ isWritten: false, current }));
    const changes = requests.map((request, index) => this.#append(request, found[index]));
    this.#watches.deliver(changes);
    return changes.map(({ revision }) => ({ isWritten: true, revision }));
  }

  #current(key: string): Entry | undefined {
    const newest = this.#versions.get(key)?.at(-1);
    return newest && entryOf(newest);
  }

  #append({ key, value }: WriteRequest, current: Entry | undefined): Change {
    const revision = this.#latestRevision + 1;
    const createRevision = value === undefined ? 0 : (current?.createRevision ?? revision);
    const change: Change = { revision, key, value, createRevision };
    const versions = this.#versions.get(key);
    if (versions === undefined) this.#versions.set(key, [change]);
    else versions.push(change);
    this.#log.push(change);
    this.#latestRevision = revision;
    return change;
  }

  async range({
    start,
    end,
    revision = this.#latestRevision,
    limit = 0,
    maximumBytes = Infinity,
  }: RangeRequest): Promise<RangeResult> {
    if (revision < this.#compactedRevision) throw new RevisionCompacted(this.#compactedRevision);
    if (revision > this.#latestRevision) throw new RevisionInFuture(this.#latestRevision);
    const entries: Entry[] = [];
    let bytes = 0;
    for (const versions of this.#versions.range({ start, end })) {
      const version = versions.findLast((candidate) => candidate.revision <= revision);
      const entry = version && entryOf(version);
      if (entry === undefined) continue;
      const isFull = (limit > 0 && entries.length === limit) || bytes >= maximumBytes;
      if (isFull) return { entries, revision, hasMore: true };
      entries.push(entry);
      bytes += entry.value.length;
    }
    return { entries, revision, hasMore: false };
  }

  watch(request: WatchRequest): { stop(): void } {
    return this.#watches.add(request);
  }

  async compact(revision: number): Promise<void> {
    if (revision > this.#latestRevision) throw new RevisionInFuture(this.#latestRevision);
    if (revision <= this.#compactedRevision) return;
    this.#compactedRevision = revision;
    const firstKept = this.#log.findIndex((change) => change.revision > revision);
    const forgotten = this.#log.splice(0, firstKept === -1 ? this.#log.length : firstKept);
    for (const key of new Set(forgotten.map((change) => change.key))) {
      const versions = this.#versions.get(key);
      if (versions === undefined) continue;
      const shown = versions.findLastIndex((version) => version.revision <= revision);
      versions.splice(0, versions[shown]?.value === undefined ? shown + 1 : shown);
      if (versions.length === 0) this.#versions.delete(key);
    }
    this.#watches.catchUp();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watches.end(storeClosed());
  }
}

const entryOf = ({ key, value, createRevision, revision }: Change): Entry | undefined =>
  value === undefined ? undefined : { key, value, createRevision, modRevision: revision };
