import type { ChangeFeed } from "../storage/change-feed.ts";
import type { Names } from "../api/names.ts";
import { StoreUnavailable } from "../storage/store.ts";
import type { Change, Entry, Store } from "../storage/store.ts";
import type { SealingKey } from "./sealing-key.ts";
import { storedEntry } from "../storage/stored-entries.ts";

/**
 * Where the store has the records of keys: outside of `/registry/`, so that no request of the API can reach them, even
 * with all permissions.
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

/** A record whose format has had one version so far. `content` is what messages call it, such as `the CAs`. */
export const keyRecord = <T extends { readonly version: 1 }>(
  name: string,
  { content }: { readonly content: string },
): KeyRecord<T> => ({
  name,
  parse(text) {
    const value = JSON.parse(text) as T; // written by this program alone
    if (value.version === 1) return value;
    throw new Error(`${content} in the store have the format ${String(value.version)}: use a newer version of signet`);
  },
});

/** What a record was, or is, after a write. A later write has a greater revision. */
export interface StoredRecord<T> {
  readonly value: T;
  readonly revision: number;
}

const maximumAttempts = 20;

/** The record as it is in the store now, and the revision of its last write (0: there is none). */
export async function readKeyRecord<T>(
  store: Store,
  { name, parse }: KeyRecord<T>,
): Promise<{ readonly value: T | undefined; readonly revision: number }> {
  const key = keyRecordPrefix + name;
  const entry = await storedEntry(store, key);
  return { value: entry && parse(entry.value.toString("utf8")), revision: entry?.modRevision ?? 0 };
}

/**
 * Changes a record. `change` gets what is stored now, and returns what is to be stored, or what it was given when there
 * is nothing to change; it is called again when another process was faster. Resolves with what is stored then, and the
 * revision of its last write. Rejects with what `change` throws, and with what the store throws.
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
 * Follows the records of keys: every worker and replica sees a change with the next look at the store that it takes for
 * anything else.
 */
export class FollowedKeyRecords {
  #stored: Map<string, StoredRecord<string>> = new Map();
  readonly #listeners = new Set<() => void>();
  readonly #feed: ChangeFeed;

  constructor(feed: ChangeFeed) {
    this.#feed = feed;
  }

  /**
   * Resolves when everything is known that was written before. Rejects with StoreUnavailable when a record is damaged. Call it together
   * with the start of the caches.
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
            this.#tell();
          },
        };
      },
      apply: ({ key, value, revision }: Change) => {
        if (value === undefined) this.#stored.delete(key);
        else this.#stored.set(key, { value: value.toString("utf8"), revision });
        this.#tell();
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

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
