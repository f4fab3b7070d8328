import type { MaybePromise } from "../../api/maybe-promise.ts";
import { RevisionCompacted, RevisionInFuture } from "../store.ts";
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
import { storedEntry } from "../stored-entries.ts";

/**
 * A store whose revisions are the revisions of an inner store plus a constant. Objects may move to an etcd whose own revisions are lower
 * than theirs: with the constant, revisions continue to grow, so that no revision that a client knows comes again with other contents.
 */
export class ShiftedStore implements Store {
  readonly #store: Store;
  readonly #shift: number;

  constructor(store: Store, shift: number) {
    this.#store = store;
    this.#shift = shift;
  }

  get revisionsPerWrite(): number | undefined {
    return this.#store.revisionsPerWrite;
  }

  latestRevision(): number | Promise<number> {
    return this.#shown(this.#store.latestRevision());
  }

  async sizeBytes(): Promise<number | undefined> {
    return this.#store.sizeBytes?.();
  }

  catchUp(): void {
    this.#store.catchUp();
  }

  async write(request: WriteRequest): Promise<WriteResult> {
    const inner = this.#inner(request);
    if (inner === undefined) return { isWritten: false, current: await storedEntry(this, request.key) };
    return this.#result(await this.#store.write(inner));
  }

  async writeTogether(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    const inner = requests.map((request) => this.#inner(request));
    if (inner.every((request) => request !== undefined)) {
      return (await this.#store.writeTogether(inner)).map((result) => this.#result(result));
    }
    return Promise.all(requests.map(async ({ key }) => ({ isWritten: false, current: await storedEntry(this, key) })));
  }

  /** The request for the inner store. Undefined when it expects a revision that the inner store has never had. */
  #inner(request: WriteRequest): WriteRequest | undefined {
    const { expectedRevision } = request;
    if (expectedRevision === 0) return request;
    return expectedRevision <= this.#shift
      ? undefined
      : { ...request, expectedRevision: expectedRevision - this.#shift };
  }

  #result(result: WriteResult): WriteResult {
    if (result.isWritten) return { isWritten: true, revision: result.revision + this.#shift };
    return { isWritten: false, current: result.current && this.#entry(result.current) };
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    const { revision: wanted, ...range } = request;
    if (wanted !== undefined && wanted < this.#shift) throw new RevisionCompacted(await this.compactedRevision());
    const inner = wanted === undefined ? range : { ...range, revision: wanted - this.#shift };
    const { entries, revision, hasMore } = await this.#store.range(inner).catch((error: unknown) => {
      throw this.#shownError(error);
    });
    return { entries: entries.map((entry) => this.#entry(entry)), revision: revision + this.#shift, hasMore };
  }

  watch({ afterRevision, onChanges, onProgress, onEnd }: WatchRequest): { stop(): void } {
    if (afterRevision < this.#shift) return this.#endAtOnce(onEnd);
    return this.#store.watch({
      afterRevision: afterRevision - this.#shift,
      onChanges: (changes) => onChanges(changes.map((change) => this.#change(change))),
      ...(onProgress !== undefined && { onProgress: (revision) => onProgress(revision + this.#shift) }),
      onEnd: (error) => onEnd(this.#shownError(error)),
    });
  }

  async compact(revision: number): Promise<void> {
    if (revision <= this.#shift) return;
    await this.#store.compact(revision - this.#shift).catch((error: unknown) => {
      throw this.#shownError(error);
    });
  }

  compactedRevision(): number | Promise<number> {
    return this.#shown(this.#store.compactedRevision());
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #endAtOnce(onEnd: (error: Error) => void): { stop(): void } {
    let isStopped = false;
    const end = async (): Promise<void> => {
      const error = await Promise.resolve(this.compactedRevision()).then(
        (revision) => new RevisionCompacted(revision),
        (failure: Error) => failure,
      );
      if (!isStopped) onEnd(error);
    };
    setImmediate(() => void end());
    return { stop: () => (isStopped = true) };
  }

  #shown(revision: MaybePromise<number>): number | Promise<number> {
    return typeof revision === "number" ? revision + this.#shift : revision.then((inner) => inner + this.#shift);
  }

  #entry(entry: Entry): Entry {
    return {
      ...entry,
      createRevision: entry.createRevision + this.#shift,
      modRevision: entry.modRevision + this.#shift,
    };
  }

  #change(change: Change): Change {
    const { revision, value, createRevision } = change;
    return {
      ...change,
      revision: revision + this.#shift,
      createRevision: value === undefined ? 0 : createRevision + this.#shift,
    };
  }

  #shownError<E>(error: E): E | RevisionCompacted | RevisionInFuture {
    if (error instanceof RevisionCompacted)
      return new RevisionCompacted(error.compactedRevision + this.#shift, { cause: error.cause });
    if (error instanceof RevisionInFuture) return new RevisionInFuture(error.latestRevision + this.#shift);
    return error;
  }
}
