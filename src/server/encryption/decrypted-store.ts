import pino from "pino";
import { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { openExistingStore } from "../store/open-store.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { openEncryption } from "./open-encryption.ts";

/** A server's store, opened for a command, which may also write it. Opening it makes no keys and logs nothing. */
export interface DecryptedStore {
  /** Where the store is, and the names that it was written with. */
  readonly location: StoreLocation;
  /** The store with decrypted values. */
  readonly store: Store;
  /** The store with the values as they are stored, encrypted. */
  readonly stored: Store;
  close(): Promise<void>;
}

/** Opens a server's store and its encryption. Rejects as `openExistingStore` and `openEncryption` do. */
export async function openDecryptedStore(given: StoreLocation): Promise<DecryptedStore> {
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

/** Opens the encryption of a store that is already open. `closeKeys` does not close the store. */
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
