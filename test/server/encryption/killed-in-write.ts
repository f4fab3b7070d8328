import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";

/**
 * Preloaded into a command by `node --import`: kills its process in the write whose number SIGNET_KILLED_IN_WRITE gives,
 * when the transaction has been begun, and may or may not be committed.
 */
const fatal = Number(process.env["SIGNET_KILLED_IN_WRITE"]);
const { write } = LmdbStore.prototype;
let writes = 0;

LmdbStore.prototype.write = function (request) {
  const writing = write.call(this, request);
  writes += 1;
  if (writes === fatal) process.kill(process.pid, "SIGKILL");
  return writing;
};
