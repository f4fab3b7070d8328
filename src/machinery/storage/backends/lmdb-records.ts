import { crc32 } from "node:zlib";

/**
 * The record format of the LMDB backend. Revisions are 48-bit big-endian integers, so that byte order is write order.
 * (At a million writes per second they last nine years; at a thousand, nine thousand.)
 */
export const revisionBytes = 6;
const kindOffset = 2 * revisionBytes;
const headerBytes = kindOffset + 3;
const checksumBytes = 4;

/** The kinds of records. Several bits must change before a damaged kind looks like another one. */
const recordKinds = { value: 0xa5, delete: 0x5a, valueWithoutChecksum: 1, deleteWithoutChecksum: 0 } as const;

/** One write in the revision log. */
export interface LogRecord {
  readonly key: string;
  /** Undefined for a delete. */
  readonly value: Buffer | undefined;
  readonly createRevision: number;
  /** The previous write of the same key; 0 when there was none. Compaction may have removed it. */
  readonly previousRevision: number;
}

export function encodeRevision(revision: number): Buffer {
  const encoded = Buffer.allocUnsafe(revisionBytes);
  encoded.writeUIntBE(revision, 0, revisionBytes);
  return encoded;
}

/**
 * Layout: createRevision, previousRevision, the kind of record in 1 byte, the key's length in 2 bytes, key, value, and the CRC-32 of all
 * that. Stores of format 1 have no checksums.
 */
export function encodeLogRecord({ key, value, createRevision, previousRevision }: LogRecord): Buffer {
  const keyBytes = Buffer.byteLength(key);
  const checksumOffset = headerBytes + keyBytes + (value?.length ?? 0);
  const encoded = Buffer.allocUnsafe(checksumOffset + checksumBytes);
  encoded.writeUIntBE(createRevision, 0, revisionBytes);
  encoded.writeUIntBE(previousRevision, revisionBytes, revisionBytes);
  encoded.writeUInt8(value === undefined ? recordKinds.delete : recordKinds.value, kindOffset);
  encoded.writeUInt16BE(keyBytes, kindOffset + 1);
  encoded.write(key, headerBytes);
  value?.copy(encoded, headerBytes + keyBytes);
  encoded.writeUInt32BE(crc32(encoded.subarray(0, checksumOffset)), checksumOffset);
  return encoded;
}

/** Whether a record matches its checksum. The functions that decode a record do not check this. */
export function isIntact(encoded: Buffer, length = encoded.length): boolean {
  // No key is empty: a record of zeros would be a delete without a checksum.
  if (!hasChecksum(encoded)) return isKindWithoutChecksum(encoded[kindOffset]) && valueStartOf(encoded) > headerBytes;
  const checksumOffset = length - checksumBytes;
  if (checksumOffset < headerBytes) return false;
  return crc32(encoded.subarray(0, checksumOffset)) === encoded.readUInt32BE(checksumOffset);
}

const hasChecksum = (encoded: Buffer): boolean =>
  encoded[kindOffset] === recordKinds.value || encoded[kindOffset] === recordKinds.delete;

const isKindWithoutChecksum = (kind: number | undefined): boolean =>
  kind === recordKinds.valueWithoutChecksum || kind === recordKinds.deleteWithoutChecksum;

/** The value is a view of `encoded`. */
export function decodeLogRecord(encoded: Buffer): LogRecord {
  return {
    key: decodeKey(encoded),
    value: decodeLogValue(encoded),
    createRevision: decodeCreateRevision(encoded),
    previousRevision: decodePreviousRevision(encoded),
  };
}

/** Whether a record is a write of this key. Fast, because lists call it for each object: decodes the key only if it is not ASCII. */
export function isOfKey(encoded: Buffer, key: string): boolean {
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    if (code > 0x7f) return decodeKey(encoded) === key;
    if (code !== encoded[headerBytes + at]) return false;
  }
  return valueStartOf(encoded) === headerBytes + key.length;
}

/** A record without its value, which may be long. */
export type LogHead = Omit<LogRecord, "value"> & { readonly isDelete: boolean; readonly isIntact: boolean };

/** Copies nothing but the key. */
export const decodeLogHead = (encoded: Buffer, length?: number): LogHead => ({
  key: decodeKey(encoded),
  createRevision: decodeCreateRevision(encoded),
  previousRevision: decodePreviousRevision(encoded),
  isDelete: !hasValue(encoded),
  isIntact: isIntact(encoded, length),
});

/** Reads only the record's createRevision. */
export const decodeCreateRevision = (encoded: Buffer): LogRecord["createRevision"] =>
  encoded.readUIntBE(0, revisionBytes);

/** Reads only the record's previousRevision. */
export const decodePreviousRevision = (encoded: Buffer): LogRecord["previousRevision"] =>
  encoded.readUIntBE(revisionBytes, revisionBytes);

/** Only the record's value: a view of `encoded`, whose length counts, because lmdb's buffer is longer than the record. */
export const decodeLogValue = (encoded: Buffer): LogRecord["value"] =>
  hasValue(encoded)
    ? encoded.subarray(valueStartOf(encoded), encoded.length - (hasChecksum(encoded) ? checksumBytes : 0))
    : undefined;

const hasValue = (encoded: Buffer): boolean =>
  encoded[kindOffset] === recordKinds.value || encoded[kindOffset] === recordKinds.valueWithoutChecksum;

const decodeKey = (encoded: Buffer): string => encoded.toString("utf8", headerBytes, valueStartOf(encoded));

const valueStartOf = (encoded: Buffer): number => headerBytes + encoded.readUInt16BE(kindOffset + 1);

const revisionOffset = 2 + revisionBytes + 4;
const headBytes = revisionOffset + revisionBytes;
const headOfDelete = Buffer.from([0]);

/** What the head of a key tells about its newest write, so that no read of the log is needed. */
export interface WriteHead {
  readonly isDeleted: boolean;
  /** The first byte of the value. This and the next two fields are undefined for a delete, and for heads that an earlier version wrote. */
  readonly firstByte: number | undefined;
  readonly previousRevision: number | undefined;
  readonly valueBytes: number | undefined;
  /** The revision of the write. LMDB's version of the head is the same: when they differ, one of them is damaged. */
  readonly revision: number | undefined;
}

/**
 * Layout: 1, the value's first byte, previousRevision, the value's length in 4 bytes, the revision; or 0 for a delete. Earlier versions
 * wrote fewer fields, and ignore the ones that they do not know.
 */
export function encodeHead(
  value: Buffer | undefined,
  { previousRevision, revision }: { readonly previousRevision: number; readonly revision: number },
): Buffer {
  if (value === undefined) return headOfDelete;
  const encoded = Buffer.allocUnsafe(headBytes);
  encoded.writeUInt8(1, 0);
  encoded.writeUInt8(value[0] ?? 0, 1);
  encoded.writeUIntBE(previousRevision, 2, revisionBytes);
  encoded.writeUInt32BE(value.length, 2 + revisionBytes);
  encoded.writeUIntBE(revision, revisionOffset, revisionBytes);
  return encoded;
}

const deletedHead: WriteHead = {
  isDeleted: true,
  firstByte: undefined,
  previousRevision: undefined,
  valueBytes: undefined,
  revision: undefined,
};
const earlierHead: WriteHead = { ...deletedHead, isDeleted: false };

export function decodeHead(encoded: Buffer, length = encoded.length): WriteHead {
  if (encoded[0] === 0 && length === headOfDelete.length) return deletedHead;
  if (encoded[0] !== 1 || length < revisionOffset) return earlierHead;
  return {
    isDeleted: false,
    firstByte: encoded[1],
    previousRevision: encoded.readUIntBE(2, revisionBytes),
    valueBytes: encoded.readUInt32BE(2 + revisionBytes),
    revision: length < headBytes ? undefined : encoded.readUIntBE(revisionOffset, revisionBytes),
  };
}

/** Copies a record out of lmdb's own buffer, which is longer than the record. */
export function copied(shared: Buffer, length = shared.length): Buffer {
  const record = Buffer.allocUnsafe(length);
  shared.copy(record, 0, 0, length);
  return record;
}
