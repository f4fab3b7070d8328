import { openBrace } from "../../api/json/json-codes.ts";
import type { Change, Entry } from "../store.ts";
import type { KeyValue, WatchEvent } from "./etcd-messages.ts";

/** The mark of the last write in its transaction. It is a space, so that a JSON value with this mark is still valid JSON. */
const firstMark = 0x20;

/**
 * How the store's revisions and values are stored in etcd, which gives all writes of a transaction one revision. A watch that
 * breaks off between two of these writes must be able to resume after the first, so each write needs a revision of its own: etcd's
 * revision times `step`, minus the number of later writes in the transaction. One byte at the end of each value, its mark, stores
 * this number. With a step of 1, revisions and values are the same as in etcd.
 */
export class RevisionForm {
  /** How much the store's revision grows with each of etcd's revisions, and the largest number of writes in a transaction. */
  readonly step: number;
  /** How much the store's revision grows with a write, roughly: under load, several writes share a transaction. */
  readonly revisionsPerWrite: number;

  constructor({ step, revisionsPerWrite }: { readonly step: number; readonly revisionsPerWrite: number }) {
    this.step = step;
    this.revisionsPerWrite = revisionsPerWrite;
  }

  /**
   * The store's revision of a write; without `laterWrites`, of the whole transaction. In a transaction with more writes than `step`,
   * the first ones share a revision.
   */
  storeRevision(etcdRevision: number, laterWrites = 0): number {
    return etcdRevision * this.step - Math.min(laterWrites, this.step - 1);
  }

  /** etcd's revision of the transaction that a revision of the store belongs to. */
  etcdRevision(storeRevision: number): number {
    return Math.ceil(storeRevision / this.step);
  }

  /** The value to store in etcd. `laterWrites`: how many writes follow in its transaction. */
  stored(value: Buffer, laterWrites: number): Buffer {
    return this.step === 1 ? value : Buffer.concat([value, Buffer.of(firstMark + laterWrites)]);
  }

  /** The store's revision of an etcd entry. */
  writeRevision({ value, modRevision }: KeyValue): number {
    return this.storeRevision(modRevision, this.#laterWrites(value));
  }

  /** The store's entry of an etcd entry. Its value is a view of etcd's answer. */
  entry(key: string, keyValue: KeyValue): Entry {
    const { value, createRevision, modRevision } = keyValue;
    const revision = this.writeRevision(keyValue);
    return {
      key,
      value: this.#unmarked(value),
      // etcd tells only the transaction that created the key, not its place there.
      createRevision: createRevision === modRevision ? revision : this.storeRevision(createRevision),
      modRevision: revision,
    };
  }

  /** The changes of events, in their order. Pass all events of a revision at once. */
  changes(events: readonly WatchEvent[], storeKey: (etcdKey: string) => string | undefined): Change[] {
    const changes: Change[] = [];
    let next: number | undefined;
    for (const { isDelete, keyValue } of events.toReversed()) {
      const revision = isDelete ? this.#deleteRevision(keyValue.modRevision, next) : this.writeRevision(keyValue);
      next = revision;
      const key = storeKey(keyValue.key);
      if (key === undefined) continue;
      if (isDelete) changes.push({ revision, key, value: undefined, createRevision: 0 });
      else {
        const { value, createRevision } = this.entry(key, keyValue);
        changes.push({ revision, key, value, createRevision });
      }
    }
    return changes.reverse();
  }

  /**
   * The store's revision of a delete, which has no mark: it comes before the next event, whose revision is `next`. Not lower than the
   * transaction's first revision, because other programs may delete any number of keys at once.
   */
  #deleteRevision(etcdRevision: number, next: number | undefined): number {
    const last = this.storeRevision(etcdRevision);
    if (next === undefined || next > last) return last;
    return Math.max(next - 1, this.storeRevision(etcdRevision, this.step - 1));
  }

  #laterWrites(value: Buffer): number {
    return Math.max(0, this.markOf(value));
  }

  #unmarked(value: Buffer): Buffer {
    return this.markOf(value) === -1 ? value : value.subarray(0, -1);
  }

  /** How many writes follow the value's write in its transaction. -1 for a value without a mark, which another program wrote. */
  markOf(value: Buffer): number {
    if (this.step === 1) return -1;
    const mark = (value.at(-1) ?? 0) - firstMark;
    return mark >= 0 && mark < this.step ? mark : -1;
  }
}

/** Whether a value is a JSON object with a mark, so that it was written with grouped revisions. False for any other value. */
export const isMarkedObject = (value: Buffer): boolean =>
  value[0] === openBrace && groupedRevisions.markOf(value) !== -1;

/** The form with etcd's own revisions, which all writes of a transaction share. Every server of etcd's API supports it. */
export const plainRevisions = new RevisionForm({ step: 1, revisionsPerWrite: 1 });

/** The form with a revision for each write. It needs transactions inside transactions, which etcd supports and kine does not. */
export const groupedRevisions = new RevisionForm({ step: 10, revisionsPerWrite: 3 });
