import { RevisionCompacted, ValueTooLarge } from "./store.ts";
import type { RangeRequest, Store, WriteResult } from "./store.ts";
import { isTooLongKey } from "./check-key.ts";
import { storedEntries } from "./stored-entries.ts";
import { everyKey } from "./key-range.ts";

/** A key and its value, without revisions: the store that receives it assigns new ones. */
export interface CopiedObject {
  readonly key: string;
  readonly value: Buffer;
  /** Why the value can't be decrypted; see StoredValue. */
  readonly unreadable?: string;
  /** See StoredValue. */
  readonly isKmsUnavailable?: boolean;
}

/** Everything that a store holds at one revision. */
export interface StoredState {
  readonly revision: number;
  /** The objects in byte order of their keys. Rejects with RevisionCompacted when the store compacts the revision during the reading. */
  objects(): AsyncIterable<CopiedObject>;
}

/** Small enough that a page of the largest objects fits into memory. */
const pageLength = 100;
const writesAtOnce = 500;
const writtenBytesAtOnce = 8 * 2 ** 20;

/** Whether a key is copied: it is a key of an object, and every backend can store it. */
export const isObjectKey = (key: string): boolean => key.startsWith("/") && key.isWellFormed() && !isTooLongKey(key);

/**
 * The newest state of a store. Reading it takes no lock, so other processes may write at the same time. With `showsDamaged`, damaged
 * objects are shown as unreadable; otherwise a damaged object ends the reading with StoreDamaged.
 */
export async function stateOf(store: Store, { showsDamaged = false } = {}): Promise<StoredState> {
  const { revision } = await store.range({ ...everyKey, limit: 1, showsDamaged });
  return { revision, objects: () => objectsAt(store, { revision, showsDamaged }) };
}

async function* objectsAt(
  store: Store,
  state: Required<Pick<RangeRequest, "revision" | "showsDamaged">>,
): AsyncIterable<CopiedObject> {
  const entries = storedEntries(store, { ...everyKey, ...state, limit: pageLength });
  for await (const { key, value, unreadable, isKmsUnavailable = false } of entries) {
    yield { key, value, ...(unreadable !== undefined && { unreadable, isKmsUnavailable }) };
  }
}

/**
 * Creates objects in a store that has none of them. Returns how many it has created. Throws for a key that exists, UnreadableSource for an
 * object that can't be decrypted, and TooLargeToCopy for an object that is too large for the store.
 */
export async function createObjects(store: Store, objects: AsyncIterable<CopiedObject>): Promise<number> {
  let count = 0;
  let bytes = 0;
  let writes: Promise<void>[] = [];
  const settle = async (): Promise<void> => {
    const outcomes = await Promise.allSettled(writes);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    writes = [];
    bytes = 0;
  };
  for await (const object of objects) {
    const written = create(store, object);
    written.catch(() => {}); // `settle` reports the failure later, with the failures of other writes
    writes.push(written);
    count += 1;
    bytes += object.value.length;
    if (writes.length === writesAtOnce || bytes > writtenBytesAtOnce) await settle();
  }
  await settle();
  return count;
}

/** An object can't be copied. The message is for people: it says why, but not what to do. */
export class UnreadableSource extends Error {
  override readonly name = "UnreadableSource";
  readonly key: string;
  readonly isKmsUnavailable: boolean;

  constructor({ key, unreadable, isKmsUnavailable = false }: CopiedObject) {
    super(`${key} can't be decrypted: ${unreadable}`);
    this.key = key;
    this.isKmsUnavailable = isKmsUnavailable;
  }
}

/** An object is too large for the store that it is copied to. The message is for people: it names the object, but not what to do. */
export class TooLargeToCopy extends Error {
  override readonly name = "TooLargeToCopy";

  constructor({ key, value }: CopiedObject, options: ErrorOptions) {
    super(`${key} has ${value.length} bytes, and the store that it goes to does not take so many`, options);
  }
}

async function create(store: Store, object: CopiedObject): Promise<void> {
  const { key, value } = object;
  if (object.unreadable !== undefined) throw new UnreadableSource(object);
  const { isWritten } = await store.write({ key, value, expectedRevision: 0 }).catch((cause: unknown): WriteResult => {
    throw cause instanceof ValueTooLarge ? new TooLargeToCopy(object, { cause }) : cause;
  });
  if (!isWritten) throw new Error(`${JSON.stringify(key)} exists already`);
}

/** Whether reading a state must begin again, with a newer one. */
export const mustReadAgain = (error: unknown): boolean => error instanceof RevisionCompacted;
