/**
 * The record format of the LMDB backend. Revisions are 48-bit big-endian integers, so that byte order is write order.
 * (At a million writes per second they last nine years; at a thousand, nine thousand.)
 */
const REVISION_BYTES = 6;
const HEADER_BYTES = 2 * REVISION_BYTES + 3;

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
  const encoded = Buffer.allocUnsafe(REVISION_BYTES);
  encoded.writeUIntBE(revision, 0, REVISION_BYTES);
  return encoded;
}

export const decodeRevision = (encoded: Buffer): number => encoded.readUIntBE(0, REVISION_BYTES);

/**
 * Layout: createRevision, previousRevision, 1 for a value or 0 for a delete, the key's length in 2 bytes, key, value.
 */
export function encodeLogRecord({ key, value, createRevision, previousRevision }: LogRecord): Buffer {
  const keyBytes = Buffer.byteLength(key);
  const encoded = Buffer.allocUnsafe(HEADER_BYTES + keyBytes + (value?.length ?? 0));
  encoded.writeUIntBE(createRevision, 0, REVISION_BYTES);
  encoded.writeUIntBE(previousRevision, REVISION_BYTES, REVISION_BYTES);
  encoded.writeUInt8(value === undefined ? 0 : 1, 2 * REVISION_BYTES);
  encoded.writeUInt16BE(keyBytes, 2 * REVISION_BYTES + 1);
  encoded.write(key, HEADER_BYTES);
  value?.copy(encoded, HEADER_BYTES + keyBytes);
  return encoded;
}

/** The value is a view of `encoded`. */
export function decodeLogRecord(encoded: Buffer): LogRecord {
  return {
    key: encoded.toString("utf8", HEADER_BYTES, valueStartOf(encoded)),
    value: decodeLogValue(encoded),
    createRevision: encoded.readUIntBE(0, REVISION_BYTES),
    previousRevision: encoded.readUIntBE(REVISION_BYTES, REVISION_BYTES),
  };
}

/** Only the record's value: a view of `encoded`, whose length counts, because lmdb's buffer is longer than the record. */
export const decodeLogValue = (encoded: Buffer): LogRecord["value"] =>
  encoded.readUInt8(2 * REVISION_BYTES) === 1 ? encoded.subarray(valueStartOf(encoded), encoded.length) : undefined;

const valueStartOf = (encoded: Buffer): number => HEADER_BYTES + encoded.readUInt16BE(2 * REVISION_BYTES + 1);
