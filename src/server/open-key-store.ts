import { CommandFailure } from "../machinery/command-line/command-failure.ts";
import { joinFolder } from "../machinery/files/owned-folder.ts";
import type { KeyStore } from "../machinery/keys/key-records.ts";
import { SealingKey } from "../machinery/keys/sealing-key.ts";
import { StoreUnavailable } from "../machinery/storage/store.ts";
import { decrypted } from "./encryption/readable-store.ts";
import { checkOwner, namesOfStore } from "./backup/back-up.ts";
import { refuseUnfinishedRestore } from "./lock-data-directory.ts";
import { openStore } from "./open-store.ts";
import type { StoreLocation } from "./open-store.ts";

/**
 * Runs a command on the keys of a server that runs or not. A user who may use the data directory may do so: the keys are
 * there, and no permission of the API gives access to them. Rejects with UsageError for a data directory of no server,
 * and with CommandFailure when the store can't be used.
 */
export async function withKeyStore<T>(location: StoreLocation, run: (keys: KeyStore) => Promise<T>): Promise<T> {
  const { dataDirectory } = location;
  checkOwner(dataDirectory);
  refuseUnfinishedRestore(dataDirectory);
  // No server starts, and nothing is moved elsewhere, while this is held.
  const folder = joinFolder(dataDirectory);
  try {
    const names = location.storage.type === "own" ? namesOfStore(dataDirectory) : location.names;
    const store = await openStore({ ...location, names });
    try {
      const readable = await decrypted(store, { ...location, names });
      try {
        return await run({ dataDirectory, names, store: readable.store, sealingKey: SealingKey.open(dataDirectory) });
      } finally {
        readable.closeKeys();
      }
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const message = `the store can't be used, and nothing was changed: ${error.message}`;
    throw new CommandFailure(message, { exit: "refused", cause: error });
  } finally {
    folder.release();
  }
}
