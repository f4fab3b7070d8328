import type { Change, Entry } from "../../../src/machinery/storage/store.ts";

/** The simplest implementation of the contract: it keeps every change ever made. */
export class StoreModel {
  readonly changes: Change[] = [];
  latestRevision = 1;
  compactedRevision = 0;

  entryAt(key: string, revision: number): Entry | undefined {
    const change = this.changes.findLast((candidate) => candidate.key === key && candidate.revision <= revision);
    if (change?.value === undefined) return undefined;
    return { key, value: change.value, createRevision: change.createRevision, modRevision: change.revision };
  }

  write(key: string, value: Buffer | undefined): number {
    const current = this.entryAt(key, this.latestRevision);
    const revision = ++this.latestRevision;
    const createRevision = value === undefined ? 0 : (current?.createRevision ?? revision);
    this.changes.push({ revision, key, value, createRevision });
    return revision;
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
