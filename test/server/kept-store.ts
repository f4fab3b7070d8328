import type { Store } from "../../src/machinery/storage/store.ts";

/** A store that a server may use and close, and that is there afterwards. */
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
