import pino from "pino";
import { FollowedFiles } from "../../machinery/files/followed-files.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { openExistingStore } from "../open-store.ts";
import type { StoreLocation } from "../open-store.ts";
import { openEncryption } from "./open-encryption.ts";

/** The store of a server, for a command: it makes no keys and logs nothing. */
export interface ReadableStore {
  /** With the names of the store. */
  readonly location: StoreLocation;
  /** With the values as clients get them. */
  readonly store: Store;
  /** With the values as they are stored. */
  readonly stored: Store;
  close(): Promise<void>;
}

/** Opens a server's store and its encryption. Rejects as `openExistingStore` and `openEncryption`. */
export async function openReadableStore(given: StoreLocation): Promise<ReadableStore> {
  const { store: stored, location } = await openExistingStore(given);
  try {
    const { store, closeKeys } = await decrypted(stored, { location });
    return {
      location,
      store,
      stored,
      async close() {
        closeKeys();
        await stored.close();
      },
    };
  } catch (error) {
    await stored.close();
    throw error;
  }
}

/** The same for a store that is open already. `closeKeys` leaves it open. */
export async function decrypted(
  stored: Store,
  { location, makesKey = false }: { readonly location: StoreLocation; readonly makesKey?: boolean },
): Promise<{ readonly store: Store; closeKeys(): void }> {
  const { store, encryption } = await openEncryption(location, {
    log: silent,
    followed: new FollowedFiles({ log: silent }),
    store: stored,
    makesKey,
  });
  return { store, closeKeys: () => encryption.close() };
}

const silent = pino({ level: "silent" });
