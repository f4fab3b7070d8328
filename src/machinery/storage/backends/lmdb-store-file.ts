import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const MAGIC = 0xbeefc0de;
/** Of LMDB's two first pages, each of which says where a transaction has left the trees. */
const META_BYTES = 0xa0;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

interface Meta {
  readonly pageBytes: number;
  readonly transaction: bigint;
  /** The pages on which the trees of free pages and of databases begin. */
  readonly roots: readonly bigint[];
}

/**
 * Makes LMDB's store file (0600) unless it is there. Throws when it is another program's, or cut short: LMDB looks at it
 * through a map, and what is wrong with it ends the process with SIGSEGV or SIGBUS.
 */
export function makeStoreFile(file: string): void {
  const descriptor = openSync(file, "a+", 0o600);
  try {
    const { size } = fstatSync(descriptor);
    if (size > 0 && !isWhole(descriptor, size)) {
      throw new Error(`${file} is damaged or no store of this program; put a snapshot in its place`);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Pages at the end may be missing, as long as none is missing that was written: the roots always are. */
function isWhole(descriptor: number, size: number): boolean {
  const first = readMeta(descriptor, 0);
  const second = first && readMeta(descriptor, first.pageBytes);
  if (first === undefined || second === undefined || first.pageBytes !== second.pageBytes) return false;
  const { roots, pageBytes } = first.transaction > second.transaction ? first : second;
  return roots.every((root) => root === NO_PAGE || (root + 1n) * BigInt(pageBytes) <= BigInt(size));
}

function readMeta(descriptor: number, position: number): Meta | undefined {
  const page = Buffer.alloc(META_BYTES);
  if (readSync(descriptor, page, { position }) < META_BYTES || page.readUInt32LE(0x18) !== MAGIC) return undefined;
  const pageBytes = page.readUInt32LE(0x30);
  if (pageBytes < 512 || pageBytes > 65_536) return undefined;
  return {
    pageBytes,
    transaction: page.readBigUInt64LE(0x98),
    roots: [page.readBigUInt64LE(0x58), page.readBigUInt64LE(0x88)],
  };
}
