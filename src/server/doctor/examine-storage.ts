import { messageOf } from "../../machinery/api/thrown-error.ts";
import { storedProfile } from "../../machinery/storage/backends/lmdb-environment.ts";
import { fileFailureReason, namesPath } from "../../machinery/files/unusable-file.ts";
import { refuseEmptiedStore, storeDirectory } from "../lock-data-directory.ts";
import { refuseMovedStore } from "../moved-store.ts";
import { openExistingStore, openStore } from "../open-store.ts";
import type { StoreLocation } from "../open-store.ts";
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
        const revision = await store.latestRevision();
        await store.close();
        return good("storage", `etcd's member ${server} answers; the newest resourceVersion is ${revision}`);
      } catch (error) {
        return bad("storage", {
          found: `etcd's member ${server}: ${messageOf(error)}`,
          advice: "look at that member's log",
        });
      }
    }),
  );
}

async function examineOwnStore(location: StoreLocation): Promise<Finding> {
  try {
    refuseMovedStore(location.dataDirectory);
    refuseEmptiedStore(location.dataDirectory);
    if (storedProfile(storeDirectory(location.dataDirectory)) === undefined) {
      return warning("storage", {
        found: `${location.dataDirectory} has no store`,
        advice: "the server makes one when it starts",
      });
    }
    const { store } = await openExistingStore(location);
    const revision = await store.latestRevision();
    await store.close();
    return good("storage", `the store in ${location.dataDirectory} opens, at revision ${revision}`);
  } catch (error) {
    return bad("storage", {
      found: namesPath(error) ? `${error.path}: ${fileFailureReason(error)}` : messageOf(error),
      advice: "give the settings that the server has, or restore a backup",
    });
  }
}
