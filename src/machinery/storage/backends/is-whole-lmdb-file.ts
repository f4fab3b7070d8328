import { fstatSync, readSync } from "node:fs";

const magic = 0xbeefc0de;
const dataVersion = 2;
/** The kind of a page with meta data. */
const metaPage = 0x08;
/**
 * The size of LMDB's meta data at the start of each of its first two pages. It names the roots of the trees after a
 * transaction.
 */
const metaBytes = 0xa0;
/** The root of an empty tree. */
export const noPage = 0xffff_ffff_ffff_ffffn;

export interface Meta {
  readonly pageBytes: number;
  readonly transaction: bigint;
  /** The root pages of the free-page tree and the database tree. */
  readonly roots: readonly [bigint, bigint];
  /** The number of the last page that was ever in use. */
  readonly lastPage: bigint;
}

/** A file that other processes may write to between any two calls. */
export interface FileToCheck {
  bytes(): number;
  /** Reads from the position on into the target. Returns how many bytes were read. */
  read(target: Buffer, position: number): number;
}

export const openedFile = (descriptor: number): FileToCheck => ({
  bytes: () => fstatSync(descriptor).size,
  read: (target, position) => readSync(descriptor, target, { position }),
});

/**
 * Whether LMDB can use the file: it is a file of LMDB, and not truncated. Pages at the end may be missing if they were never
 * written. The root pages are always written.
 */
export function isWholeLmdbFile(file: FileToCheck): boolean {
  const meta = newestMeta(file);
  if (meta === undefined) return false;
  const { roots, pageBytes } = meta;
  // Read the size last: a server that writes at the same time makes the file longer before it writes new roots into the meta data.
  const bytes = BigInt(file.bytes());
  return roots.every((root) => root === noPage || (root + 1n) * BigInt(pageBytes) <= bytes);
}

/** Returns the meta data of the newest transaction; undefined when the file is not one of LMDB. */
export const newestMeta = (file: FileToCheck): Meta | undefined => metasOf(file)?.[0];

/** Returns the meta data of the last two transactions, the newest first; undefined when the file is not one of LMDB. */
export function metasOf(file: FileToCheck): readonly [Meta, Meta] | undefined {
  const first = readMeta(file, 0);
  const second = first && readMeta(file, first.pageBytes);
  if (first === undefined || second === undefined || first.pageBytes !== second.pageBytes) return undefined;
  return second.transaction > first.transaction ? [second, first] : [first, second]; // of two alike, LMDB takes the first
}

function readMeta(file: FileToCheck, position: number): Meta | undefined {
  const page = Buffer.alloc(metaBytes);
  if (file.read(page, position) < metaBytes) return undefined;
  const isMeta = (page.readUInt16LE(0x12) & metaPage) !== 0;
  if (!isMeta || page.readUInt32LE(0x18) !== magic || page.readUInt16LE(0x1c) !== dataVersion) return undefined;
  const pageBytes = page.readUInt32LE(0x30);
  if (pageBytes < 512 || pageBytes > 65_536) return undefined;
  return {
    pageBytes,
    transaction: page.readBigUInt64LE(0x98),
    roots: [page.readBigUInt64LE(0x58), page.readBigUInt64LE(0x88)],
    lastPage: page.readBigUInt64LE(0x90),
  };
}
