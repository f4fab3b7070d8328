import { openBrace } from "../../api/json-codes.ts";
import type { Change, Entry } from "../store.ts";
import type { KeyValue, WatchEvent } from "./etcd-messages.ts";

/** Marks a value that no write follows in its transaction. It is a space, so that JSON stays JSON. */
const firstMark = 0x20;

/**
 * How the store's revisions and values are written in etcd, which gives all writes of a transaction one revision. A watch that
 * breaks off between two of them must be able to go on after the first, so each needs a revision of its own: etcd's, times
 * `step`, less the number of writes that follow in the transaction. A value ends with one byte, its mark, that tells this
 * number. With a step of 1, revisions and values are etcd's as they are.
 */
export class RevisionForm {
  /** How much the store's revision grows with each of etcd's, and how many writes a transaction has at most. */
  readonly step: number;
  /** How much the store's revision grows with a write, roughly: under load, some share a transaction. */
  readonly revisionsPerWrite: number;

  constructor({ step, revisionsPerWrite }: { readonly step: number; readonly revisionsPerWrite: number }) {
    this.step = step;
    this.revisionsPerWrite = revisionsPerWrite;
  }

  /**
   * The store's revision of a write, or of everything that etcd has up to a revision. Where more writes follow than there are
   * revisions, the first ones share theirs.
   */
  storeRevision(etcdRevision: number, laterWrites = 0): number {
    return etcdRevision * this.step - Math.min(laterWrites, this.step - 1);
  }

  /** The revision of etcd in which a write of the store's revision is. */
  etcdRevision(storeRevision: number): number {
    return Math.ceil(storeRevision / this.step);
  }

  /** What etcd keeps for a value that a number of writes follow in its transaction. */
  stored(value: Buffer, laterWrites: number): Buffer {
    return this.step === 1 ? value : Buffer.concat([value, Buffer.of(firstMark + laterWrites)]);
  }

  /** The store's revision of a write that etcd shows. */
  writeRevision({ value, modRevision }: KeyValue): number {
    return this.storeRevision(modRevision, this.#laterWrites(value));
  }

  /** Its value is a view of what etcd sent. */
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

  /** The changes of all events of some revisions, in their order. */
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
   * A deleted key has no mark: its place is before that of the next event, whose revision is given. Other programs delete any
   * number of keys at once.
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

  /** How many writes follow that of the value in its transaction. -1 for a value without a mark, which another program wrote. */
  markOf(value: Buffer): number {
    if (this.step === 1) return -1;
    const mark = (value.at(-1) ?? 0) - firstMark;
    return mark >= 0 && mark < this.step ? mark : -1;
  }
}

/** Whether a value is a JSON object with a mark: it was written with grouped revisions. False for what is no JSON object. */
export const isMarkedObject = (value: Buffer): boolean =>
  value[0] === openBrace && groupedRevisions.markOf(value) !== -1;

/** etcd's own revisions: the writes of a transaction share theirs. Every server of etcd's API can do this. */
export const plainRevisions = new RevisionForm({ step: 1, revisionsPerWrite: 1 });

/** A revision for each write. Needs transactions within transactions, which etcd takes and kine does not. */
export const groupedRevisions = new RevisionForm({ step: 10, revisionsPerWrite: 3 });
