import { StoreUnavailable } from "../store.ts";
import type { Entry, RangeRequest, RangeResult } from "../store.ts";
import type { MakeEtcdCall } from "./etcd-client.ts";
import { decodeRange, encodeRange } from "./etcd-messages.ts";
import type { KeyValue, RangeAnswer, RangeMessage } from "./etcd-messages.ts";
import { etcdMethods } from "./etcd-methods.ts";
import type { EtcdRange, KeySpace } from "./key-space.ts";
import { PageLength } from "./page-length.ts";
import type { RevisionForm } from "./revision-form.ts";
import { byteOrdered } from "../byte-ordered.ts";
import { keyAfter } from "../key-range.ts";

/** A page of a range, with its entries in byte order of their keys. */
interface Page extends Omit<RangeAnswer, "count"> {
  /** The range whose keys are all in the page. */
  readonly range: EtcdRange;
}

interface ReadWithin {
  readonly range: EtcdRange;
  readonly wanted: number;
  readonly limit: number;
  readonly form: RevisionForm;
}

interface RangeReaderOptions {
  readonly keys: KeySpace;
  readonly call: MakeEtcdCall;
}

/** Reads ranges of the store in pages that are small enough for one answer of etcd. */
export class RangeReader {
  readonly #keys: KeySpace;
  readonly #call: MakeEtcdCall;
  readonly #pageLength = new PageLength();

  constructor({ keys, call }: RangeReaderOptions) {
    this.#keys = keys;
    this.#call = call;
  }

  /** Reads a range, with all pages at the revision of the first one. Rejects as `call` does. */
  async read(request: RangeRequest, form: RevisionForm): Promise<RangeResult> {
    const { start, end, revision: wanted, limit = 0, maximumBytes = Infinity } = request;
    const range = this.#keys.etcdRange(start, end);
    const most = limit === 0 ? Infinity : limit;
    const isWithinTransaction = wanted !== undefined && wanted < form.storeRevision(form.etcdRevision(wanted));
    const pages = isWithinTransaction
      ? this.#pagesWithin({ range, wanted, limit: most, form })
      : // For etcd, 0 means the latest revision. An empty store has revision 1.
        this.#pages(range, {
          revision: wanted === undefined ? 0 : Math.max(1, form.etcdRevision(wanted)),
          limit: most,
        });
    const entries: Entry[] = [];
    let revision = wanted;
    let bytes = 0;
    for await (const page of pages) {
      revision ??= form.storeRevision(page.revision);
      for (const keyValue of page.keyValues) {
        if (entries.length >= most || bytes >= maximumBytes) return { entries, revision, hasMore: true };
        const entry = this.entry(keyValue, form);
        entries.push(entry);
        bytes += entry.value.length;
      }
      if (!page.hasMore) break;
      if (entries.length >= most || bytes >= maximumBytes) return { entries, revision, hasMore: true };
    }
    return { entries, revision: revision ?? 0, hasMore: false };
  }

  /** The pages of a range at the revision of the first, to its end, or until `limit` entries were read. */
  async *#pages(
    { key: first, rangeEnd }: EtcdRange,
    { revision: wanted, limit }: { readonly revision: number; readonly limit: number },
  ): AsyncGenerator<Page> {
    let key = first;
    let revision = wanted;
    for (let left = limit; ;) {
      const { keyValues, hasMore, revision: latest } = await this.#page({ key, rangeEnd, revision, limit: left });
      if (revision === 0) revision = latest;
      const next = hasMore ? keyAfter(lastKey(keyValues, key)) : rangeEnd;
      yield { revision, keyValues, hasMore, range: { key, rangeEnd: next } };
      left -= keyValues.length;
      if (!hasMore || left <= 0) return;
      key = next;
    }
  }

  /**
   * As `#pages`, at a revision between two writes of a transaction. etcd shows all writes of a transaction or none. So this reads the
   * state before the transaction, and adds the transaction's writes up to the revision. Its deletes have no place, so they count as later.
   */
  async *#pagesWithin({ range, wanted, limit, form }: ReadWithin): AsyncGenerator<Page> {
    const transaction = form.etcdRevision(wanted);
    for await (const page of this.#pages(range, { revision: Math.max(1, transaction - 1), limit })) {
      const keyValues = new Map(page.keyValues.map((keyValue) => [keyValue.key, keyValue]));
      for await (const later of this.#pages(page.range, { revision: transaction, limit: Infinity })) {
        for (const keyValue of later.keyValues) {
          if (keyValue.modRevision === transaction && form.writeRevision(keyValue) <= wanted)
            keyValues.set(keyValue.key, keyValue);
        }
      }
      yield { ...page, keyValues: [...keyValues.values()].sort(inByteOrder) };
    }
  }

  entry(keyValue: KeyValue, form: RevisionForm): Entry {
    return form.entry(this.#keys.storeKey(keyValue.key) ?? keyValue.key, keyValue);
  }

  /** Reads as many entries as fit into one answer, but at most `limit`. */
  async #page(range: RangeMessage): Promise<RangeAnswer> {
    let limit = Math.min(range.limit, this.#pageLength.entries);
    const { page, bytes } = await this.#call({
      path: etcdMethods.range,
      message: encodeRange({ ...range, limit }),
      isRepeatable: true,
      decode: (answer) => ({ page: decodeRange(answer), bytes: answer.length }),
      smaller: () => {
        const half = this.#pageLength.halve(limit);
        if (half === undefined) return undefined;
        limit = half;
        return encodeRange({ ...range, limit });
      },
    });
    this.#pageLength.fit({ entries: page.keyValues.length, bytes });
    return page;
  }
}

/**
 * Returns the last key of a page that is followed by another one. Throws StoreUnavailable for a page without an entry, or whose last entry
 * is before its start: the next page would be the same again.
 */
export function lastKey(keyValues: readonly KeyValue[], start: string): string {
  const key = keyValues.at(-1)?.key;
  if (key !== undefined && byteOrdered(key) >= byteOrdered(start)) return key;
  throw new StoreUnavailable(
    "etcd's answer can't be right: it has more entries, and sends none that was not there before",
  );
}

const inByteOrder = (one: KeyValue, other: KeyValue): number =>
  byteOrdered(one.key) < byteOrdered(other.key) ? -1 : 1;
