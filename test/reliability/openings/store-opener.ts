/** Opens and closes a store as often as it is told: `node store-opener.ts DIRECTORY TIMES`. */
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";

const [directory = "", times = "1"] = process.argv.slice(2);
for (let time = 0; time < Number(times); time++) {
  const store = new LmdbStore({ directory, profile: "platform" });
  store.latestRevision();
  await store.close();
}
