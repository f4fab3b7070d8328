import pino from "pino";
import { FollowedFiles } from "../../machinery/files/followed-files.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { openExistingStore } from "../store/open-store.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { openEncryption } from "./open-encryption.ts";

/** The store of a server, for a command: it makes no keys and logs nothing. */
export interface ReadableStore {
  /** Where the store is, and the names that it was written with. */
  readonly location: StoreLocation;
  /** The store with decrypted values. */
  readonly store: Store;
  /** The store with the values as they are stored. */
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
