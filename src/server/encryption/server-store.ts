import type { HealthCheck } from "../../machinery/http/health-routes.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { openStore } from "../open-store.ts";
import type { StoreLocation } from "../open-store.ts";
import { openEncryption } from "./open-encryption.ts";
import type { OpenEncryptionOptions } from "./open-encryption.ts";

/** What a server reads and writes. */
export interface ServerStore {
  readonly store: Store;
  readonly healthChecks: readonly HealthCheck[];
  close(): Promise<void>;
}

/** Opens a server's store with its encryption, whose key it makes where none was. `given` replaces the configured store. */
export async function openServerStore(
  location: StoreLocation,
  { given, ...options }: Pick<OpenEncryptionOptions, "log" | "followed"> & { readonly given: Store | undefined },
): Promise<ServerStore> {
  const stored = given ?? (await openStore(location));
  try {
    const { store, encryption } = await openEncryption(location, { ...options, store: stored, makesKey: true });
    return {
      store,
      healthChecks: encryption.healthChecks,
      async close() {
        encryption.close();
        await store.close();
      },
    };
  } catch (error) {
    await stored.close();
    throw error;
  }
}
