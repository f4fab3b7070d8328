import type { Entry, RangeRequest, RangeResult } from "../store.ts";
import { rangePath } from "./etcd-client.ts";
import type { EtcdCall } from "./etcd-client.ts";
import { decodeRange, encodeRange } from "./etcd-messages.ts";
import type { KeyValue, RangeAnswer, RangeMessage } from "./etcd-messages.ts";
import type { KeySpace } from "./key-space.ts";
import { PageLength } from "./page-length.ts";
import type { RevisionForm } from "./revision-form.ts";

interface RangeReaderOptions {
  readonly keys: KeySpace;
  readonly call: (call: EtcdCall) => Promise<Buffer>;
}

/** Reads ranges of the store in pages that are small enough for one answer of etcd. */
export class RangeReader {
  readonly #keys: KeySpace;
  readonly #call: RangeReaderOptions["call"];
  readonly #pageLength = new PageLength();

  constructor({ keys, call }: RangeReaderOptions) {
    this.#keys = keys;
    this.#call = call;
  }

  /** All pages are of the revision of the first one. Rejects as `call` does. */
  async read(request: RangeRequest, form: RevisionForm): Promise<RangeResult> {
    const { start, end, revision: wanted, limit = 0, maximumBytes = Infinity } = request;
    let { key, rangeEnd } = this.#keys.etcdRange(start, end);
    const entries: Entry[] = [];
    let bytes = 0;
    // For etcd, 0 means the latest. Revision 1 is that of an empty store.
    let etcdRevision = wanted === undefined ? 0 : Math.max(1, form.etcdRevision(wanted));
    const result = (hasMore: boolean): RangeResult => {
      return { entries, revision: wanted ?? form.storeRevision(etcdRevision), hasMore };
    };
    // Within a transaction, what etcd still has may be later writes only.
    const mayBeLater = wanted !== undefined && wanted < form.storeRevision(etcdRevision);
    for (let isFull = false; ;) {
      const left = limit === 0 ? Infinity : Math.max(1, limit - entries.length);
      const page = await this.#page({ key, rangeEnd, revision: etcdRevision, limit: left });
      if (etcdRevision === 0) etcdRevision = page.revision;
      for (const keyValue of page.keyValues) {
        key = `${keyValue.key}\0`;
        const entry = await this.#entryAt(wanted, { keyValue, form });
        if (entry === undefined) continue;
        if (isFull) return result(true);
        entries.push(entry);
        bytes += entry.value.length;
        isFull = (limit > 0 && entries.length >= limit) || bytes >= maximumBytes;
      }
      if (!page.hasMore || (isFull && !mayBeLater)) return result(page.hasMore);
    }
  }

  /** etcd shows all writes of a transaction, or none: one that came after the wanted revision is taken back. */
  async #entryAt(
    wanted: number | undefined,
    { keyValue, form }: { readonly keyValue: KeyValue; readonly form: RevisionForm },
  ): Promise<Entry | undefined> {
    const entry = this.#entry(keyValue, form);
    if (wanted === undefined || entry.modRevision <= wanted) return entry;
    const before = { key: keyValue.key, rangeEnd: "", revision: keyValue.modRevision - 1, limit: 1 };
    const [previous] = (await this.#page(before)).keyValues;
    return previous && this.#entry(previous, form);
  }

  #entry(keyValue: KeyValue, form: RevisionForm): Entry {
    return form.entry(this.#keys.storeKey(keyValue.key) ?? keyValue.key, keyValue);
  }

  /** Reads as many entries as are small enough for one answer, and `limit` at most. */
  async #page(range: RangeMessage): Promise<RangeAnswer> {
    let limit = Math.min(range.limit, this.#pageLength.entries);
    const answer = await this.#call({
      path: rangePath,
      message: encodeRange({ ...range, limit }),
      isRepeatable: true,
      smaller: () => {
        const half = this.#pageLength.halve(limit);
        if (half === undefined) return undefined;
        limit = half;
        return encodeRange({ ...range, limit });
      },
    });
    const page = decodeRange(answer);
    this.#pageLength.fit({ entries: page.keyValues.length, bytes: answer.length });
    return page;
  }
}
