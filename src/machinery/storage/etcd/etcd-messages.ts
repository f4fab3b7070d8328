import { noBytes } from "../../api/bytes/no-bytes.ts";
import { ProtobufError, ProtobufReader, ProtobufWriter } from "../../schema/protobuf/protobuf-wire.ts";
import type { EtcdRange } from "./key-space.ts";

/**
 * The messages of etcd's API that the store uses. Field numbers are those of etcd's `rpc.proto` and `kv.proto`. Fields
 * are written last to first, as ProtobufWriter requires.
 */

/** etcd's keys are bytes. The store's keys are UTF-8. */
export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface RangeMessage {
  readonly key: string;
  readonly rangeEnd: string;
  /** 0 means the latest revision. */
  readonly revision: number;
  /** 0 means no limit. */
  readonly limit: number;
  /** Without values. */
  readonly isKeysOnly?: boolean;
}

export interface RangeAnswer {
  readonly revision: number;
  readonly keyValues: readonly KeyValue[];
  readonly hasMore: boolean;
  readonly count: number;
}

export function encodeRange({ key, rangeEnd, revision, limit, isKeysOnly = false }: RangeMessage): Buffer {
  const writer = new ProtobufWriter();
  if (isKeysOnly) numberField(writer, 8, 1);
  numberField(writer, 4, revision);
  if (rangeEnd !== "") numberField(writer, 3, limit); // kine has no limit for a single key
  textField(writer, 2, rangeEnd);
  textField(writer, 1, key);
  return writer.finish();
}

export function decodeRange(message: Uint8Array): RangeAnswer {
  return readRange(new ProtobufReader(message));
}

function readRange(reader: ProtobufReader): RangeAnswer {
  let revision = 0;
  let hasMore = false;
  let count = 0;
  const keyValues: KeyValue[] = [];
  while (reader.nextField()) {
    if (reader.field === 1) revision = revisionIn(reader.message());
    else if (reader.field === 2) keyValues.push(copied(readKeyValue(reader.message())));
    else if (reader.field === 3) hasMore = reader.boolean();
    else if (reader.field === 4) count = reader.int64();
  }
  return { revision, keyValues, hasMore, count };
}

export interface SwapMessage {
  readonly key: string;
  /** Undefined deletes the key. */
  readonly value: Buffer | undefined;
  /** 0 means that the key must not exist. */
  readonly expectedRevision: number;
}

export interface SwapAnswer extends Omit<TransactionAnswer, "current"> {
  /**
   * The value of the key when the write was refused. `encodeSwap` asks for it only when the write expects a revision; kine also
   * sets it after a delete.
   */
  readonly current: KeyValue | undefined;
}

/**
 * Encodes a transaction in one of the two forms that kube-apiserver uses: create and compare-and-swap. Every server of
 * etcd's API supports these.
 */
export function encodeSwap(swap: SwapMessage): Buffer {
  const writer = new ProtobufWriter();
  if (swap.expectedRevision !== 0) {
    writer.messageField(3, () => writer.messageField(1, () => textField(writer, 1, swap.key)));
  }
  writer.messageField(2, () => writeOperation(writer, swap));
  writer.messageField(1, () => writeComparison(writer, swap));
  return writer.finish();
}

/**
 * Encodes a transaction of several keys: all are written when all have the expected revisions, otherwise all are read. kine
 * does not support it.
 */
export function encodeTransaction(swaps: readonly SwapMessage[]): Buffer {
  const writer = new ProtobufWriter();
  writeTransaction(writer, swaps);
  return writer.finish();
}

function writeTransaction(writer: ProtobufWriter, swaps: readonly SwapMessage[]): void {
  const lastFirst = swaps.toReversed();
  for (const { key } of lastFirst)
    writer.messageField(3, () => writer.messageField(1, () => textField(writer, 1, key)));
  for (const swap of lastFirst) writer.messageField(2, () => writeOperation(writer, swap));
  for (const swap of lastFirst) writer.messageField(1, () => writeComparison(writer, swap));
}

/** A condition of a transaction: nothing is written unless the key has this revision. */
export interface GuardMessage {
  readonly key: string;
  readonly revision: number;
  /** A key whose value is always empty, and which need not exist. */
  readonly fenceKey: string;
}

/**
 * Encodes several swaps of different keys as transactions inside one transaction. Each swap is made or refused independently of the others.
 * A refused swap reads its key, also when the key must not exist. Only etcd supports it.
 */
export const encodeSwaps = (swaps: readonly SwapMessage[], guard: GuardMessage): Buffer =>
  encodeGuarded(
    { guard, swaps },
    swaps.map((swap) => (writer) => writeTransaction(writer, [swap])),
  );

/** As `encodeTransaction`, with a guard. Only etcd supports guards. */
export const encodeGuardedTransaction = (swaps: readonly SwapMessage[], guard: GuardMessage): Buffer =>
  encodeGuarded({ guard, swaps }, [(writer) => writeTransaction(writer, swaps)]);

/** Encodes transactions inside one transaction, all of which depend on the guard. */
function encodeGuarded(
  { guard, swaps }: { readonly guard: GuardMessage; readonly swaps: readonly SwapMessage[] },
  inner: readonly ((writer: ProtobufWriter) => void)[],
): Buffer {
  const { key, revision, fenceKey } = guard;
  const writer = new ProtobufWriter();
  // Older versions of etcd check their quota only when the outer transaction itself writes a value. Otherwise they accept values beyond the
  // quota, until the disk is full. So the outer transaction has a put, in the branch for a refused guard. This put keeps the key's value,
  // and fails when the key does not exist.
  if (swaps.some(({ value }) => value !== undefined)) {
    writer.messageField(3, () =>
      writer.messageField(2, () => {
        numberField(writer, 5, 1); // ignore_value
        textField(writer, 1, fenceKey);
      }),
    );
  }
  for (const write of inner.toReversed()) writer.messageField(2, () => writer.messageField(4, () => write(writer)));
  writer.messageField(1, () => writeComparison(writer, { key, expectedRevision: revision }));
  return writer.finish();
}

/** Reads the answers to the inner transactions, in their order. Undefined: the guard did not have its revision. Throws for an empty answer. */
function decodeGuarded<Answer extends { readonly revision: number }>(
  message: Uint8Array,
  readInner: (reader: ProtobufReader) => Answer,
): Answer[] | undefined {
  const reader = new ProtobufReader(message);
  let revision = 0;
  let isKept = false;
  const answers: Answer[] = [];
  while (reader.nextField()) {
    if (reader.field === 1) revision = revisionIn(reader.message());
    else if (reader.field === 2) isKept = reader.boolean();
    else if (reader.field === 3) {
      const response = reader.message();
      while (response.nextField()) if (response.field === 4) answers.push(readInner(response.message()));
    }
  }
  // An empty answer, of something between this server and etcd, would say that the guard is lost.
  if (!isKept && revision === 0) throw new Error("it has no revision");
  // Only the outer answer has the revision, which all inner transactions share.
  return isKept ? answers.map((answer) => ({ ...answer, revision })) : undefined;
}

export const decodeSwaps = (message: Uint8Array): SwapAnswer[] | undefined => decodeGuarded(message, readSwap);

export const decodeGuardedTransaction = (message: Uint8Array): TransactionAnswer | undefined =>
  decodeGuarded(message, readTransaction)?.[0];

/**
 * Encodes a transaction that writes a key into a range, if the range has no key yet. It has the form of `encodeSwaps`, so that a server
 * which does not support that form refuses it.
 */
export function encodeFirst({
  key,
  value,
  range,
}: {
  readonly key: string;
  readonly value: Buffer;
  readonly range: EtcdRange;
}): Buffer {
  const writer = new ProtobufWriter();
  writer.messageField(2, () =>
    writer.messageField(4, () => writer.messageField(2, () => writeOperation(writer, { key, value }))),
  );
  writer.messageField(1, () => {
    textField(writer, 64, range.rangeEnd);
    writer.varintField(5, 0); // part of a union: written even though it is 0
    textField(writer, 3, range.key);
    numberField(writer, 2, 1); // compares the createRevision of every key
  });
  return writer.finish();
}

function writeOperation(writer: ProtobufWriter, { key, value }: Pick<SwapMessage, "key" | "value">): void {
  if (value === undefined) return writer.messageField(3, () => textField(writer, 1, key));
  writer.messageField(2, () => {
    writer.bytesField(2, value);
    textField(writer, 1, key);
  });
}

function writeComparison(
  writer: ProtobufWriter,
  { key, expectedRevision }: Pick<SwapMessage, "key" | "expectedRevision">,
): void {
  writer.varintField(6, expectedRevision); // part of a union: written even when it is 0
  textField(writer, 3, key);
  numberField(writer, 2, 2); // compares the key's modRevision
}

export interface TransactionAnswer {
  readonly isWritten: boolean;
  readonly revision: number;
  /** The values of the keys, in their order, when nothing was written. */
  readonly current: readonly (KeyValue | undefined)[];
  /** How many keys etcd says it has deleted. */
  readonly deletedCount: number;
}

export const decodeTransaction = (message: Uint8Array): TransactionAnswer =>
  readTransaction(new ProtobufReader(message));

function readTransaction(reader: ProtobufReader): TransactionAnswer {
  let revision = 0;
  let isWritten = false;
  let deletedCount = 0;
  const current: (KeyValue | undefined)[] = [];
  while (reader.nextField()) {
    if (reader.field === 1) revision = revisionIn(reader.message());
    else if (reader.field === 2) isWritten = reader.boolean();
    else if (reader.field === 3) {
      const response = readResponse(reader.message());
      current.push(response.current);
      deletedCount += response.deletedCount;
    }
  }
  return { isWritten, revision, current, deletedCount };
}

export const decodeSwap = (message: Uint8Array): SwapAnswer => readSwap(new ProtobufReader(message));

function readSwap(reader: ProtobufReader): SwapAnswer {
  const { current, ...answer } = readTransaction(reader);
  return { ...answer, current: current[0] };
}

/** Reads the result of one operation of a transaction. */
function readResponse(reader: ProtobufReader): Pick<SwapAnswer, "current" | "deletedCount"> {
  let current: KeyValue | undefined;
  let deletedCount = 0;
  while (reader.nextField()) {
    if (reader.field === 1) current = readRange(reader.message()).keyValues[0];
    else if (reader.field === 3) deletedCount = reader.message().int64At(2);
  }
  return { current, deletedCount };
}

export function encodePut(key: string, value: Buffer): Buffer {
  const writer = new ProtobufWriter();
  writer.bytesField(2, value);
  textField(writer, 1, key);
  return writer.finish();
}

export function encodeCompaction(revision: number): Buffer {
  const writer = new ProtobufWriter();
  numberField(writer, 1, revision);
  return writer.finish();
}

export interface WatchMessage {
  readonly key: string;
  readonly rangeEnd: string;
  readonly startRevision: number;
}

/**
 * Encodes the creation of a watch with progress reports when idle. It does not ask for previous values, because etcd reads each of them
 * from its database for each watch, which doubles the cost of an update. It does not ask for fragments of long answers, because etcd takes
 * minutes to divide an answer of 120,000 events.
 */
export function encodeWatchCreate({ key, rangeEnd, startRevision }: WatchMessage): Buffer {
  const writer = new ProtobufWriter();
  writer.messageField(1, () => {
    numberField(writer, 4, 1); // progress_notify
    numberField(writer, 3, startRevision);
    textField(writer, 2, rangeEnd);
    textField(writer, 1, key);
  });
  return writer.finish();
}

export function encodeProgressRequest(): Buffer {
  const writer = new ProtobufWriter();
  writer.messageField(3, () => {});
  return writer.finish();
}

export interface WatchEvent {
  readonly isDelete: boolean;
  /** The value is a view of the message. When the key was deleted, value and createRevision are empty. */
  readonly keyValue: KeyValue;
}

export interface WatchAnswer {
  readonly revision: number;
  readonly isCreated: boolean;
  readonly isCanceled: boolean;
  readonly cancelReason: string;
  /** Not 0: the watch tried to start before this revision, to which etcd is compacted. */
  readonly compactRevision: number;
  readonly events: readonly WatchEvent[];
}

export function decodeWatchAnswer(message: Uint8Array): WatchAnswer {
  const reader = new ProtobufReader(message);
  let revision = 0;
  let isCreated = false;
  let isCanceled = false;
  let cancelReason = "";
  let compactRevision = 0;
  const events: WatchEvent[] = [];
  while (reader.nextField()) {
    if (reader.field === 1) revision = revisionIn(reader.message());
    else if (reader.field === 3) isCreated = reader.boolean();
    else if (reader.field === 4) isCanceled = reader.boolean();
    else if (reader.field === 5) compactRevision = checkedRevision(reader.int64());
    else if (reader.field === 6) cancelReason = reader.string();
    else if (reader.field === 11) events.push(readEvent(reader.message()));
  }
  return { revision, isCreated, isCanceled, cancelReason, compactRevision, events };
}

function readEvent(reader: ProtobufReader): WatchEvent {
  let isDelete = false;
  let keyValue = nothing;
  while (reader.nextField()) {
    if (reader.field === 1) isDelete = reader.int32() === 1;
    else if (reader.field === 2) keyValue = readKeyValue(reader.message());
  }
  return { isDelete, keyValue };
}

/** The status of a member. */
export interface EtcdStatus {
  /** Such as `3.5.16`. Empty when it does not report one. */
  readonly version: string;
  /** The size of its database's file. */
  readonly databaseBytes: number;
  /** The same for all members of a cluster. A restored cluster has a new id. 0: the server has none, as kine. */
  readonly clusterId: number;
  /** Whether the member is a learner: it copies the data of the other members, and accepts neither reads nor writes. */
  readonly isLearner: boolean;
  /** What is wrong with its cluster, such as `memberID:1 alarm:NOSPACE`. */
  readonly faults: readonly string[];
}

export function decodeStatus(message: Uint8Array): EtcdStatus {
  const reader = new ProtobufReader(message);
  let version = "";
  let databaseBytes = 0;
  let clusterId = 0;
  let isLearner = false;
  const faults: string[] = [];
  while (reader.nextField()) {
    if (reader.field === 1) clusterId = clusterIn(reader.message());
    else if (reader.field === 2) version = reader.string();
    else if (reader.field === 3) databaseBytes = reader.int64();
    else if (reader.field === 8) faults.push(reader.string());
    else if (reader.field === 10) isLearner = reader.boolean();
  }
  return { version, databaseBytes, clusterId, isLearner, faults };
}

/** The cluster's id in a `ResponseHeader`. Of its 64 bits, 53 are enough to distinguish clusters. */
const clusterIn = (header: ProtobufReader): number => header.int64At(1);

/** The revision in a `ResponseHeader`. */
const revisionIn = (header: ProtobufReader): number => checkedRevision(header.int64At(3));

/** The largest revision that is taken for a real one: at a million writes a second, etcd reaches it after nine years. */
const largestRevision = 2 ** 48;

/** The revision. Throws for one that no etcd has, because this process would wait for that revision until it is restarted. */
function checkedRevision(revision: number): number {
  if (revision >= 0 && revision <= largestRevision) return revision;
  throw new ProtobufError(
    `no etcd has revision ${revision}; check what is between this server and etcd, and etcd's data`,
  );
}

const nothing: KeyValue = { key: "", value: noBytes, createRevision: 0, modRevision: 0 };

/** Copies the value: a view would keep the whole response in memory as long as one of its values. */
const copied = (keyValue: KeyValue): KeyValue => ({ ...keyValue, value: Buffer.from(keyValue.value) });

/** The value is a view of the message. */
function readKeyValue(reader: ProtobufReader): KeyValue {
  let { key, value, createRevision, modRevision } = nothing;
  while (reader.nextField()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) createRevision = checkedRevision(reader.int64());
    else if (reader.field === 3) modRevision = checkedRevision(reader.int64());
    else if (reader.field === 5) value = reader.bytes();
  }
  return { key, value, createRevision, modRevision };
}

// oxlint-disable-next-line max-params -- for each field of each message: an object would cost
function numberField(writer: ProtobufWriter, field: number, value: number): void {
  if (value === 0) return;
  writer.varintField(field, value);
}

// oxlint-disable-next-line max-params -- for each field of each message: an object would cost
function textField(writer: ProtobufWriter, field: number, text: string): void {
  if (text === "") return; // etcd takes an empty end of a range for no end
  writer.stringField(field, text);
}
