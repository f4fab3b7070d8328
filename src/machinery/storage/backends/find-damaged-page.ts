import { metasOf, noPage } from "./is-whole-lmdb-file.ts";
import type { FileToCheck, Meta } from "./is-whole-lmdb-file.ts";

/** Where a page's header has its number, its transaction, its kind, and the bounds of its free space from the header's end. */
const header = { page: 0, transaction: 8, kind: 18, lower: 20, upper: 22, bytes: 24 };
/** The first page of a long value has the number of its pages in place of these bounds. */
const valuePages = header.lower;
/** LMDB may leave its marks for pages that it is about to write in the upper bits. */
const kindMask = 0x1fff;
const pageKind = { branch: 1, leaf: 2, longValue: 4 };
/** A node's header: the length of its data and its flags, or the number of its child page; then the length of its key. */
const node = { length: 0, flags: 4, keyBytes: 6, bytes: 8 };
const nodeFlags = { value: 0, longValue: 1, table: 2 };
/** What a node has for a long value: the number of its first page, a transaction, and the number of its pages. */
const place = { page: 0, pages: 16, bytes: 24 };
/** What a node has for a table. */
const table = { depth: 6, root: 40, bytes: 48 };
const logName = "log\0";
/** LMDB would make a new table in the place of one whose name is damaged. */
const tableNames = new Set(["heads\0", logName, "meta\0"]);
/** LMDB's limit. */
const maximumDepth = 32;
/** The first two pages are the meta data. */
const firstPage = 2;
/** No store is so large. */
const maximumPages = 2 ** 31;
const numberBytes = 8;

/**
 * Returns a damaged page of an LMDB file; undefined when LMDB can use all pages. Reads them without LMDB: where the structure of a page is
 * damaged, LMDB finds other objects, or ends the process with SIGBUS, or overwrites pages in use that a list says are free. Reads neither
 * values, which have checksums, nor a file that `isWholeLmdbFile` refuses. Pages that another process writes meanwhile may look damaged.
 * `readsLog`: whether to read the leaves of the log too, which are most of a file's pages.
 */
export function findDamagedPage(
  file: FileToCheck,
  { readsLog }: { readonly readsLog: boolean },
): FoundPage | undefined {
  const metas = metasOf(file);
  if (metas === undefined) return undefined;
  const [meta, older] = metas;
  if (meta.lastPage >= maximumPages) return { page: 0, part: "objects", meta };
  const pages = new PageCheck(file, meta);
  const [freePages, tables] = meta.roots;
  let part: FoundPage["part"] = "objects";
  try {
    const onTable = ({ page, flags, key, data }: Leaf): void => {
      const name = key.toString("latin1");
      if (flags !== nodeFlags.table || !tableNames.has(name)) throw new DamagedPage(page);
      const isRead = readsLog || name !== logName;
      pages.checkTree(data.readBigUInt64LE(table.root), {
        unreadDepth: isRead ? undefined : data.readUInt16LE(table.depth),
      });
    };
    pages.checkTree(tables, { onLeaf: onTable });
    part = "free list";
    const lists: Leaf[] = [];
    pages.checkTree(freePages, { onLeaf: (leaf) => lists.push(leaf), hasNumbers: true });
    for (const list of lists) pages.checkFree(pages.valueOf(list), list.page);
    const olderWrote = pages.transactionOf(older) ?? -1n;
    const isNewest =
      (pages.transactionOf(meta) ?? meta.transaction) === meta.transaction &&
      (olderWrote < meta.transaction || isGivenUp({ meta, older, olderWrote }));
    return isNewest ? undefined : { page: 0, part: "last transaction", meta };
  } catch (error) {
    if (!(error instanceof DamagedPage)) throw error;
    return { page: error.page, part: error.isInUse ? "objects" : part, meta };
  }
}

interface LastTransactions {
  readonly meta: Meta;
  readonly older: Meta;
  /** The transaction that wrote what the older meta data names. */
  readonly olderWrote: bigint;
}

/**
 * Whether the last transaction is one that failed. When the disk does not write the meta data of a transaction, LMDB writes them once more
 * with the number that was there before (`mdb_env_write_meta`), so that nobody uses that transaction. One changed bit in the number of a
 * transaction that did not fail could look the same. A disk that refuses one write is far more likely.
 */
const isGivenUp = ({ meta, older, olderWrote }: LastTransactions): boolean =>
  older.transaction === meta.transaction - 1n && olderWrote === meta.transaction + 1n;

export interface FoundPage {
  readonly page: number;
  /**
   * What is damaged. `free list`: only the list of free pages, so all objects can be read; not for a page that is in use and in the list.
   * `last transaction`: only its number, so all objects can be read, perhaps as they were before it.
   */
  readonly part: "objects" | "free list" | "last transaction";
  /** The meta data that led to the page. While it stays the same, nobody has written, and the page is damaged for certain. */
  readonly meta: Meta;
}

class DamagedPage extends Error {
  override readonly name = "DamagedPage";
  readonly page: number;
  /** Whether the page is in use and also listed as free. An object may be wrong: the page that leads to the old one may be the damaged one. */
  readonly isInUse: boolean;

  constructor(page: number, { isInUse = false } = {}) {
    super(`page ${page} is damaged`);
    this.page = page;
    this.isInUse = isInUse;
  }
}

/** A node of a leaf page. */
interface Leaf {
  readonly page: number;
  readonly flags: number;
  readonly key: Buffer;
  /** The value, the place of a long value, or a table. */
  readonly data: Buffer;
  readonly valueBytes: number;
}

interface TreeOptions {
  readonly onLeaf?: (leaf: Leaf) => void;
  readonly unreadDepth?: number | undefined;
  /** Whether the keys are numbers, as those of the free list, and their bytes have no order. */
  readonly hasNumbers?: boolean;
}

interface PageRange {
  readonly first: number;
  readonly count: number;
}

/** Numbers of pages, in a bit for each page of the file. */
class PageSet {
  readonly #bits: Uint8Array;

  constructor(pageCount: number) {
    this.#bits = new Uint8Array(Math.ceil(pageCount / 8));
  }

  has(page: number): boolean {
    return ((this.#bits[page >> 3] ?? 0) & (1 << (page & 7))) !== 0;
  }

  /** Returns whether the set did not have the page. */
  add(page: number): boolean {
    if (this.has(page)) return false;
    this.#bits[page >> 3] = (this.#bits[page >> 3] ?? 0) | (1 << (page & 7));
    return true;
  }
}

class PageCheck {
  readonly #file: FileToCheck;
  readonly #pageBytes: number;
  readonly #pageCount: number;
  readonly #transaction: bigint;
  readonly #taken: PageSet;
  readonly #free: PageSet;

  constructor(file: FileToCheck, { pageBytes, lastPage, transaction }: Meta) {
    this.#file = file;
    this.#pageBytes = pageBytes;
    this.#pageCount = Number(lastPage) + 1;
    this.#transaction = transaction;
    this.#taken = new PageSet(this.#pageCount);
    this.#free = new PageSet(this.#pageCount);
  }

  /** Checks the pages of a tree, and calls `onLeaf` with each node of its leaves. Does not read the pages from `unreadDepth` on. */
  checkTree(root: bigint, { onLeaf, unreadDepth = Infinity, hasNumbers = false }: TreeOptions): void {
    if (root === noPage) return;
    const waiting = [{ page: Number(root), namedBy: 0, depth: 1 }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { page, namedBy, depth } = next;
      if (depth > maximumDepth) throw new DamagedPage(namedBy);
      this.#takeAll({ first: page, count: 1 }, namedBy);
      if (depth >= unreadDepth) continue;
      const bytes = this.#read(page, { at: 0, length: this.#pageBytes });
      const kind = bytes.readUInt16LE(header.kind) & kindMask;
      const isLeaf = kind === pageKind.leaf;
      const isSound =
        (isLeaf || kind === pageKind.branch) &&
        Number(bytes.readBigUInt64LE(header.page)) === page &&
        bytes.readBigUInt64LE(header.transaction) <= this.#transaction;
      if (!isSound) throw new DamagedPage(page);
      for (const at of nodesOf(bytes, { page, isLeaf, isOrdered: isLeaf && !hasNumbers })) {
        if (!isLeaf) {
          waiting.push({ page: bytes.readUIntLE(at, node.keyBytes), namedBy: page, depth: depth + 1 });
        } else if (onLeaf !== undefined || bytes.readUInt16LE(at + node.flags) !== nodeFlags.value) {
          const leaf = this.#leafAt(bytes, { page, at });
          onLeaf?.(leaf);
        }
      }
    }
  }

  /**
   * Checks a list of free pages: its length, then page numbers, or minus a count before the first of so many pages, or zeros. LMDB would
   * use a page that is listed twice for two things.
   */
  checkFree(list: Buffer, listedBy: number): void {
    const numberAt = (index: number): number => Number(list.readBigInt64LE(index * numberBytes));
    const length = list.length < numberBytes ? Infinity : numberAt(0);
    if (length < 0 || (length + 1) * numberBytes > list.length) throw new DamagedPage(listedBy);
    let count = 1;
    for (let index = 1; index <= length; index += 1) {
      const number = numberAt(index);
      if (number > 0) {
        for (const page of this.#pagesOf({ first: number, count }, listedBy)) {
          if (this.#taken.has(page)) throw new DamagedPage(listedBy, { isInUse: true });
          if (!this.#free.add(page)) throw new DamagedPage(listedBy);
        }
      }
      count = number < 0 ? -number : 1;
    }
  }

  /**
   * The transaction that wrote the root of the tables, which each transaction writes anew. It is the one that the meta data names, unless
   * that number is damaged: then LMDB may take the state before the last write for the newest, and give out its revision again. Undefined
   * before the first transaction.
   */
  transactionOf({ roots: [, tables] }: Meta): bigint | undefined {
    if (tables >= BigInt(this.#pageCount)) return undefined; // also for `noPage`
    return this.#read(Number(tables), { at: header.transaction, length: numberBytes }).readBigUInt64LE();
  }

  valueOf({ page, flags, data, valueBytes }: Leaf): Buffer {
    if (flags === nodeFlags.value) return data;
    if (flags !== nodeFlags.longValue) throw new DamagedPage(page);
    return this.#read(Number(data.readBigUInt64LE(place.page)), { at: header.bytes, length: valueBytes });
  }

  #leafAt(bytes: Buffer, { page, at }: { readonly page: number; readonly at: number }): Leaf {
    const flags = bytes.readUInt16LE(at + node.flags);
    const valueBytes = bytes.readUInt32LE(at + node.length);
    const start = at + node.bytes + bytes.readUInt16LE(at + node.keyBytes);
    const key = bytes.subarray(at + node.bytes, start);
    const data = bytes.subarray(start, start + (dataBytes(flags, valueBytes) ?? 0));
    const leaf = { page, flags, key, data, valueBytes };
    if (flags === nodeFlags.longValue) this.#takeLongValue(leaf);
    return leaf;
  }

  #takeLongValue({ page, data, valueBytes }: Leaf): void {
    const first = Number(data.readBigUInt64LE(place.page));
    const count = Number(data.readBigUInt64LE(place.pages));
    if (valueBytes > count * this.#pageBytes - header.bytes) throw new DamagedPage(page);
    this.#takeAll({ first, count }, page);
    const head = this.#read(first, { at: 0, length: header.bytes });
    const isSound =
      Number(head.readBigUInt64LE(header.page)) === first &&
      (head.readUInt16LE(header.kind) & kindMask) === pageKind.longValue &&
      head.readUInt32LE(valuePages) === count;
    if (!isSound) throw new DamagedPage(first);
  }

  /** Throws when one of the pages is in use already: then the page that names it is damaged. */
  #takeAll(pages: PageRange, namedBy: number): void {
    for (const page of this.#pagesOf(pages, namedBy)) {
      if (!this.#taken.add(page)) throw new DamagedPage(namedBy);
    }
  }

  /** Throws when the file does not have these pages. */
  *#pagesOf({ first, count }: PageRange, namedBy: number): Generator<number> {
    if (first < firstPage || first + count > this.#pageCount) throw new DamagedPage(namedBy);
    for (let page = first; page < first + count; page += 1) yield page;
  }

  #read(page: number, { at, length }: { readonly at: number; readonly length: number }): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    if (this.#file.read(bytes, page * this.#pageBytes + at) < length) throw new DamagedPage(page);
    return bytes;
  }
}

interface NodesOfPage {
  readonly page: number;
  readonly isLeaf: boolean;
  readonly isOrdered: boolean;
}

/** Returns where the nodes of a page are. Throws when they do not fill what the page does not have free, or their keys are not in order. */
function nodesOf(bytes: Buffer, { page, isLeaf, isOrdered }: NodesOfPage): number[] {
  const lower = bytes.readUInt16LE(header.lower);
  const upper = bytes.readUInt16LE(header.upper);
  const end = bytes.length - header.bytes;
  if (lower % 2 !== 0 || lower > upper || upper > end) throw new DamagedPage(page);
  const nodes: number[] = [];
  let free = end - upper;
  let previousKey = 0;
  let previousEnd = 0;
  for (let index = 0; index < lower / 2; index += 1) {
    const offset = bytes.readUInt16LE(header.bytes + 2 * index);
    const at = header.bytes + offset;
    if (offset % 2 !== 0 || offset < upper || at + node.bytes > bytes.length) throw new DamagedPage(page);
    const valueBytes = isLeaf ? dataBytes(bytes.readUInt16LE(at + node.flags), bytes.readUInt32LE(at)) : 0;
    if (valueBytes === undefined) throw new DamagedPage(page);
    const key = at + node.bytes;
    const keyEnd = key + bytes.readUInt16LE(at + node.keyBytes);
    const nodeBytes = keyEnd - at + valueBytes;
    if (at + nodeBytes > bytes.length) throw new DamagedPage(page);
    if (isOrdered && bytes.compare(bytes, key, keyEnd, previousKey, previousEnd) >= 0) throw new DamagedPage(page);
    previousKey = key;
    previousEnd = keyEnd;
    free -= nodeBytes + (nodeBytes % 2);
    nodes.push(at);
  }
  if (free !== 0) throw new DamagedPage(page);
  return nodes;
}

/** How many bytes a node of a leaf has after its key. Undefined for flags that this store's nodes do not have. */
function dataBytes(flags: number, valueBytes: number): number | undefined {
  if (flags === nodeFlags.value) return valueBytes;
  if (flags === nodeFlags.longValue) return place.bytes;
  return flags === nodeFlags.table ? table.bytes : undefined;
}
