/**
 * The record format of the LMDB backend. Revisions are 48-bit big-endian integers, so that byte order is write order.
 * (At a million writes per second they last nine years; at a thousand, nine thousand.)
 */
export const revisionBytes = 6;
const headerBytes = 2 * revisionBytes + 3;

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
 * Layout: createRevision, previousRevision, 1 for a value or 0 for a delete, the key's length in 2 bytes, key, value.
 */
export function encodeLogRecord({ key, value, createRevision, previousRevision }: LogRecord): Buffer {
  const keyBytes = Buffer.byteLength(key);
  const encoded = Buffer.allocUnsafe(headerBytes + keyBytes + (value?.length ?? 0));
  encoded.writeUIntBE(createRevision, 0, revisionBytes);
  encoded.writeUIntBE(previousRevision, revisionBytes, revisionBytes);
  encoded.writeUInt8(value === undefined ? 0 : 1, 2 * revisionBytes);
  encoded.writeUInt16BE(keyBytes, 2 * revisionBytes + 1);
  encoded.write(key, headerBytes);
  value?.copy(encoded, headerBytes + keyBytes);
  return encoded;
}

/** The value is a view of `encoded`. */
export function decodeLogRecord(encoded: Buffer): LogRecord {
  return {
    key: encoded.toString("utf8", headerBytes, valueStartOf(encoded)),
    value: decodeLogValue(encoded),
    createRevision: decodeCreateRevision(encoded),
    previousRevision: decodePreviousRevision(encoded),
  };
}

/** A record without its value, which may be long. */
export type LogHead = Omit<LogRecord, "value"> & { readonly isDelete: boolean };

/** Copies nothing but the key. */
export const decodeLogHead = (encoded: Buffer): LogHead => ({
  key: encoded.toString("utf8", headerBytes, valueStartOf(encoded)),
  createRevision: decodeCreateRevision(encoded),
  previousRevision: decodePreviousRevision(encoded),
  isDelete: encoded.readUInt8(2 * revisionBytes) === 0,
});

/** Reads only the record's createRevision. */
export const decodeCreateRevision = (encoded: Buffer): LogRecord["createRevision"] =>
  encoded.readUIntBE(0, revisionBytes);

/** Reads only the record's previousRevision. */
export const decodePreviousRevision = (encoded: Buffer): LogRecord["previousRevision"] =>
  encoded.readUIntBE(revisionBytes, revisionBytes);

/** Only the record's value: a view of `encoded`, whose length counts, because lmdb's buffer is longer than the record. */
export const decodeLogValue = (encoded: Buffer): LogRecord["value"] =>
  encoded.readUInt8(2 * revisionBytes) === 1 ? encoded.subarray(valueStartOf(encoded), encoded.length) : undefined;

const valueStartOf = (encoded: Buffer): number => headerBytes + encoded.readUInt16BE(2 * revisionBytes + 1);

const headBytes = 2 + revisionBytes + 4;
const headOfDelete = Buffer.from([0]);

/** What is known of a key's newest write without a look at the log. */
export interface WriteHead {
  readonly isDeleted: boolean;
  /** The first byte of the value, previousRevision, and the value's length. Undefined for a delete, and for what an earlier version wrote. */
  readonly firstByte: number | undefined;
  readonly previousRevision: number | undefined;
  readonly valueBytes: number | undefined;
}

/**
 * Layout: 1, the value's first byte, previousRevision, the value's length in 4 bytes; or 0 for a delete. Earlier versions wrote less of it,
 * and read no more.
 */
export function encodeHead(value: Buffer | undefined, previousRevision: number): Buffer {
  if (value === undefined) return headOfDelete;
  const encoded = Buffer.allocUnsafe(headBytes);
  encoded.writeUInt8(1, 0);
  encoded.writeUInt8(value[0] ?? 0, 1);
  encoded.writeUIntBE(previousRevision, 2, revisionBytes);
  encoded.writeUInt32BE(value.length, 2 + revisionBytes);
  return encoded;
}

const deletedHead: WriteHead = {
  isDeleted: true,
  firstByte: undefined,
  previousRevision: undefined,
  valueBytes: undefined,
};
const earlierHead: WriteHead = { ...deletedHead, isDeleted: false };

export function decodeHead(encoded: Buffer, length = encoded.length): WriteHead {
  if (encoded[0] === 0) return deletedHead;
  if (length < headBytes) return earlierHead;
  return {
    isDeleted: false,
    firstByte: encoded[1],
    previousRevision: encoded.readUIntBE(2, revisionBytes),
    valueBytes: encoded.readUInt32BE(2 + revisionBytes),
  };
}

/** A copy of a record that lmdb shows in its own buffer, which is longer. */
export function copied(shared: Buffer, length = shared.length): Buffer {
  const record = Buffer.allocUnsafe(length);
  shared.copy(record, 0, 0, length);
  return record;
}
