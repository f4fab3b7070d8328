import type { Store } from "../../src/machinery/storage/store.ts";

/** A store that stays usable after a server has used and closed it. */
export const keptStore = (store: Store): Store => ({
  latestRevision: () => store.latestRevision(),
  catchUp: () => store.catchUp(),
  write: (request) => store.write(request),
  writeTogether: (requests) => store.writeTogether(requests),
  range: (request) => store.range(request),
  watch: (request) => store.watch(request),
  compact: (revision) => store.compact(revision),
  compactedRevision: () => store.compactedRevision(),
  close: async () => {},
});
