import type { Store } from "../../machinery/storage/store.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { refuseDamagedPages } from "../data-directory/refuse-damaged-pages.ts";
import { openExistingStore, openStore, profileOfStore } from "../store/open-store.ts";
import type { StoreLocation } from "../store/open-store.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** Whether the store opens, and whether each member of etcd answers by itself. */
export async function examineStorage(location: StoreLocation): Promise<Finding[]> {
  const { storage } = location;
  if (storage.type === "own") return [await examineOwnStore(location)];
  return await Promise.all(
    storage.servers.map(async (server) => {
      try {
        const member = { ...location, storage: { ...storage, servers: [server] } };
        const store = await openStore(member, { mayBegin: false });
        const revision = await closedAtRevision(store);
        return good("storage", `etcd's member ${server} answers; the newest resourceVersion is ${revision}`);
      } catch (error) {
        return bad("storage", { found: `etcd's member ${server} cannot be used`, advice: messageOf(error) });
      }
    }),
  );
}

/** Resolves with the newest revision of the store, which is then closed. It is closed too when this rejects. */
async function closedAtRevision(store: Store): Promise<number> {
  try {
    return await store.latestRevision();
  } finally {
    await store.close();
  }
}

async function examineOwnStore(location: StoreLocation): Promise<Finding> {
  try {
    refuseDamagedPages(location.dataDirectory, { purpose: "doctor" }); // first, because LMDB may end the process
    if (profileOfStore(location.dataDirectory) === undefined) {
      return warning("storage", {
        found: `${location.dataDirectory} has no store`,
        advice: "the server makes one when it starts",
      });
    }
    const { store } = await openExistingStore(location);
    const revision = await closedAtRevision(store);
    return good("storage", `the store in ${location.dataDirectory} opens, at revision ${revision}`);
  } catch (error) {
    return bad("storage", { found: "the store does not open", advice: messageOf(error) }); // it says why, and what to do
  }
}
