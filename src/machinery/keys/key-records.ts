import type { ChangeFeed } from "../storage/change-feed.ts";
import type { Names } from "../api/names.ts";
import { StoreUnavailable } from "../storage/store.ts";
import type { Change, Entry, Store } from "../storage/store.ts";
import type { SealingKey } from "./sealing-key.ts";
import { storedEntry } from "../storage/stored-entries.ts";

/**
 * The prefix of the records of keys in the store. It is outside of `/registry/`, so that no API request can reach them, even with all
 * permissions.
 */
const keyRecordPrefix = "/keys/";

/** Where a command finds the keys of a server: in its store, and in its data directory. */
export interface KeyStore {
  readonly dataDirectory: string;
  readonly names: Names;
  readonly store: Store;
  readonly sealingKey: SealingKey;
}

/** A record of the store: one JSON value that changes by compare-and-swap. */
export interface KeyRecord<T> {
  /** Below `keyRecordPrefix`. */
  readonly name: string;
  /** Throws for a value that this version can't read. */
  parse(text: string): T;
}

/** A record whose format has only version 1. `content` is its name in error messages, such as `the CAs`. */
export const keyRecord = <T extends { readonly version: 1 }>(
  name: string,
  { content }: { readonly content: string },
): KeyRecord<T> => ({
  name,
  parse(text) {
    const value = JSON.parse(text) as T; // only this program writes it
    if (value.version === 1) return value;
    throw new Error(`${content} in the store have the format ${String(value.version)}: use a newer version of signet`);
  },
});

/** The value of a record after one of its writes. A later write has a greater revision. */
export interface StoredRecord<T> {
  readonly value: T;
  readonly revision: number;
}

const maximumAttempts = 20;

/** Reads a record's value from the store, and the revision of its last write. Without a record: undefined and 0. */
export async function readKeyRecord<T>(
  store: Store,
  { name, parse }: KeyRecord<T>,
): Promise<{ readonly value: T | undefined; readonly revision: number }> {
  const key = keyRecordPrefix + name;
  const entry = await storedEntry(store, key);
  return { value: entry && parse(entry.value.toString("utf8")), revision: entry?.modRevision ?? 0 };
}

/**
 * Changes a record. `change` gets the stored value and returns the new one, or the same value to change nothing. It is called again
 * when another process has written in between. Resolves with the value that is then stored, and the revision of its last write.
 * Rejects with the errors of `change` and of the store, and after 20 attempts.
 */
export async function changeKeyRecord<T extends object>(
  { store, record }: { readonly store: Store; readonly record: KeyRecord<T> },
  change: (stored: T | undefined) => T,
): Promise<StoredRecord<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const { value, revision } = await readKeyRecord(store, record);
    const next = change(value);
    if (next === value) return { value: next, revision };
    const written = await store.write({
      key: keyRecordPrefix + record.name,
      value: Buffer.from(JSON.stringify(next)),
      expectedRevision: revision,
    });
    if (written.isWritten) return { value: next, revision: written.revision };
    if (attempt === maximumAttempts) throw new Error(`the record ${record.name} changes all the time: try again`);
  }
}

/**
 * Follows the records of keys with the change feed of the caches. So a worker or replica that waits for the store's newest revision, as
 * its reads do, has the newest records too.
 */
export class FollowedKeyRecords {
  #stored: Map<string, StoredRecord<string>> = new Map();
  readonly #listeners = new Set<() => void>();
  readonly #feed: ChangeFeed;

  constructor(feed: ChangeFeed) {
    this.#feed = feed;
  }

  /**
   * Loads the records. Resolves when every write before the call is known. Rejects with StoreUnavailable when a record is damaged. Call
   * it together with the start of the caches: they share one read of the store.
   */
  async start(): Promise<void> {
    await this.#feed.join({
      prefix: keyRecordPrefix,
      beginLoad: () => {
        const loaded = new Map<string, StoredRecord<string>>();
        return {
          add(entries: readonly Entry[]) {
            for (const { key, value, modRevision, unreadable } of entries) {
              if (unreadable !== undefined)
                throw new StoreUnavailable(`${unreadable}; restore a backup (signet restore)`);
              loaded.set(key, { value: value.toString("utf8"), revision: modRevision });
            }
          },
          finish: () => {
            this.#stored = loaded;
            this.#notifyListeners();
          },
        };
      },
      apply: ({ key, value, revision }: Change) => {
        if (value === undefined) this.#stored.delete(key);
        else this.#stored.set(key, { value: value.toString("utf8"), revision });
        this.#notifyListeners();
      },
      progress: () => {},
      end: () => {},
    }).started;
  }

  recordOf(name: string): StoredRecord<string> | undefined {
    return this.#stored.get(keyRecordPrefix + name);
  }

  /** Calls `listener` after each change of any record. It must not throw. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener();
  }
}
