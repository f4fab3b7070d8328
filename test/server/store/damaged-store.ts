import { join } from "node:path";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { damageWrite } from "../../machinery/storage/backends/damage-write.ts";
import { put } from "../../machinery/storage/store-contract.ts";

/** Makes the store of a data directory, with the namespace `lost`, whose write the file has lost. */
export async function makeDamagedStore(dataDirectory: string): Promise<void> {
  const directory = join(dataDirectory, "store");
  const store = new LmdbStore({ directory, profile: "platform" });
  await put(store, "/registry/namespaces/lost", "{}");
  await store.close();
  await damageWrite(directory, { key: "/registry/namespaces/lost", how: "lost" });
}
