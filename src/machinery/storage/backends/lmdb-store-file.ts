import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const MAGIC = 0xbeefc0de;
/**
 * The size of LMDB's meta data at the start of each of its first two pages. It names the roots of the trees after a
 * transaction.
 */
const META_BYTES = 0xa0;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

interface Meta {
  readonly pageBytes: number;
  readonly transaction: bigint;
  /** The root pages of the free-page tree and the database tree. */
  readonly roots: readonly bigint[];
}

/**
 * Creates LMDB's store file (0600) unless it exists. Throws when the file belongs to another program or is truncated:
 * LMDB reads it through a memory map, and a bad file would kill the process with SIGSEGV or SIGBUS.
 */
export function makeStoreFile(file: string): void {
  const descriptor = openSync(file, "a+", 0o600);
  try {
    const { size } = fstatSync(descriptor);
    if (size > 0 && !isWhole(descriptor, size)) {
      throw new Error(`${file} is damaged, or is not a Signet store; restore a backup (signet restore)`);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Pages at the end may be missing if they were never written. The roots are always written. */
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
