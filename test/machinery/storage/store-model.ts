import type { Change, Entry } from "../../../src/machinery/storage/store.ts";

/** The simplest implementation of the contract: it keeps every change ever made. */
export class StoreModel {
  readonly changes: Change[] = [];
  latestRevision: number;
  compactedRevision = 0;
  /** How much the revision grows with each transaction; its last write has that of the transaction. */
  readonly step: number;

  constructor({ firstRevision = 1, step = 1 }: { readonly firstRevision?: number; readonly step?: number } = {}) {
    this.latestRevision = firstRevision;
    this.step = step;
  }

  entryAt(key: string, revision: number): Entry | undefined {
    const change = this.changes.findLast((candidate) => candidate.key === key && candidate.revision <= revision);
    if (change?.value === undefined) return undefined;
    return { key, value: change.value, createRevision: change.createRevision, modRevision: change.revision };
  }

  /** Writes in a transaction of its own. Returns the revision. */
  write(key: string, value: Buffer | undefined): number {
    const revision = this.latestRevision + this.step;
    this.writeAt(revision, { key, value });
    return revision;
  }

  /** Writes as a store did that may have put several writes into a transaction. */
  writeAt(revision: number, { key, value }: { readonly key: string; readonly value: Buffer | undefined }): void {
    const current = this.entryAt(key, this.latestRevision);
    const created = current === undefined ? revision : this.#transactionOf(current.createRevision);
    this.changes.push({ revision, key, value, createRevision: value === undefined ? 0 : created });
    this.latestRevision = this.#transactionOf(revision);
  }

  /** All of a transaction is compacted, or nothing. */
  compact(revision: number): void {
    this.compactedRevision = Math.max(this.compactedRevision, Math.floor(revision / this.step) * this.step);
  }

  #transactionOf(revision: number): number {
    return Math.ceil(revision / this.step) * this.step;
  }

  rangeAt({ start, end, revision }: { start: string; end: string; revision: number }): Entry[] {
    const keys = [...new Set(this.changes.map(({ key }) => key))];
    return keys
      .sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
      .filter((key) => isBetween({ key, start, end }))
      .map((key) => this.entryAt(key, revision))
      .filter((entry) => entry !== undefined);
  }

  changesAfter(revision: number): Change[] {
    return this.changes.filter((change) => change.revision > revision);
  }
}

/** Whether a key lies in `[start, end)` in the order of UTF-8 bytes. */
export function isBetween({ key, start, end }: { key: string; start: string; end: string }): boolean {
  const bytes = Buffer.from(key);
  return Buffer.compare(bytes, Buffer.from(start)) >= 0 && Buffer.compare(bytes, Buffer.from(end)) < 0;
}
