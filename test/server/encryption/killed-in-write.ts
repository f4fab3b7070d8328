import { OpeningLock } from "../../../src/machinery/storage/backends/opening-lock.ts";

/**
 * Preloaded into a command by `node --import`: kills its process in the transaction whose number SIGNET_KILLED_IN_WRITE gives,
 * when it has been begun, and may or may not be committed.
 */
const fatal = Number(process.env["SIGNET_KILLED_IN_WRITE"]);
const { commit } = OpeningLock.prototype;
let commits = 0;

OpeningLock.prototype.commit = function (write) {
  const committing = commit.call(this, write) as ReturnType<typeof write>;
  commits += 1;
  if (commits === fatal) setImmediate(() => process.kill(process.pid, "SIGKILL"));
  return committing;
};
