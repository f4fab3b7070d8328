import type { KeyStore } from "../../machinery/keys/key-records.ts";
import { SealingKey } from "../../machinery/keys/sealing-key.ts";
import type { StoreLocation } from "./open-store.ts";
import { readSharedSealingKeyId, refuseOtherSealingKey } from "./replica-identity.ts";
import { withServerStore } from "./with-server-store.ts";
import { checkOwner } from "../data-directory/check-data-directory.ts";

/**
 * Runs a command on the keys of a server, whether it runs or not. Any user with access to the data directory may do so: the keys are there,
 * and no permission of the API gives access to them. Rejects as `withServerStore` does, and when there is no data directory.
 */
export async function withKeyStore<T>(given: StoreLocation, run: (keys: KeyStore) => Promise<T>): Promise<T> {
  const { dataDirectory } = given;
  checkOwner(dataDirectory);
  return await withServerStore(given, async ({ store, location: { names } }) => {
    const sharedId = await readSharedSealingKeyId(store);
    return await run({
      dataDirectory,
      names,
      store,
      /** Opened only when it is needed: a server that has lost its sealing key needs the commands too. */
      get sealingKey() {
        const key = SealingKey.open(dataDirectory, { makesKey: false });
        refuseOtherSealingKey(key, sharedId);
        return key;
      },
    });
  });
}
